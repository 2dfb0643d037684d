"""How fast a model would train on this machine, tried on so little that no server feels it: one block and two, on a
few images, and the rest by closed form."""

import time
from dataclasses import dataclass, replace
from threading import Lock

import torch
import torch.nn.functional as F
from torch import nn

from vit.config import TrainConfig, ViTConfig
from vit.training import make_optimizer
from vit.variants import build

MOST_IMAGES = 16
MOST_MEMORY = 100e6  # bytes, while it is tried
MOST_WORK = 3e9  # multiplications and additions of a step that is tried: a tenth of a second on a slow core
ENOUGH = 0.04  # seconds of steps of one shape

_one_at_a_time = Lock()  # or visitors would measure each other


@dataclass(frozen=True)
class Seconds:
    """What a step costs: once, and for each image."""

    per_step: float
    per_image: float


@dataclass(frozen=True)
class Speed:
    """The last block learns for CLS alone: a model of one block, and each other block, which cost more."""

    one_block: Seconds
    other_block: Seconds

    def images_per_second(self, depth: int, batch_size: int) -> float:
        first, other = (part.per_step + batch_size * part.per_image for part in (self.one_block, self.other_block))
        return batch_size / (first + (depth - 1) * other)


def images_to_try(config: TrainConfig) -> int:
    """How many images a step with two blocks can have here; 0 if even one would be too much."""
    tried = config.model if config.model.variant == "cnn" else replace(config.model, depth=2)
    by_memory = (MOST_MEMORY - 16 * tried.parameters) / (4 * numbers_per_image(tried))  # in bytes
    by_work = MOST_WORK / work_per_image(tried)
    return max(0, int(min(MOST_IMAGES, config.batch_size, by_memory, by_work)))


def numbers_per_image(model: ViTConfig) -> float:
    """What is left behind for the way back: by each block, or by each convolution and what follows it."""
    if model.variant == "cnn":
        return 3 * model.image_size**2 * model.cnn_width * (1 + 2 / 4 + 4 / 16)
    return model.depth * model.tokens * numbers_per_token(model)


def numbers_per_token(model: ViTConfig) -> int:
    """By one block, with the attention of all heads."""
    return 16 * model.width + 3 * model.mlp_width + 4 * model.heads * model.tokens


def work_per_image(model: ViTConfig) -> float:
    """Multiplications and additions of a step, forward and twice as much backward."""
    if model.variant == "cnn":  # 9 per pixel and pair of filters; there are twice as many on a quarter of the pixels
        w = model.cnn_width
        return 3.0 * 2 * 9 * model.image_size**2 * (model.channels * w + 2 * w * w / 4 + 8 * w * w / 16)
    in_block = 2 * model.tokens * model.width * (4 * model.width + 2 * model.mlp_width + 2 * model.tokens)
    return 3.0 * (model.depth * in_block + 2 * model.patches * model.patch_values * model.width)


def measure(config: TrainConfig) -> Speed | None:
    """None if the model is too large to be tried in a process that has other things to do."""
    images = images_to_try(config)
    if not images:
        return None
    with _one_at_a_time:
        if config.model.variant == "cnn":  # which has no blocks
            return Speed(_cost(replace(config, batch_size=images)), Seconds(0.0, 0.0))
        one, two = (_cost(replace(config, model=replace(config.model, depth=depth), batch_size=images))
                    for depth in (1, 2))
    return Speed(one, Seconds(max(0.0, two.per_step - one.per_step),
                              max(two.per_image - one.per_image, two.per_image / 4)))  # the clock is not exact


def _cost(config: TrainConfig) -> Seconds:
    """From steps with few images and with many."""
    torch.set_num_threads(1)
    model = _some_model(config.model)
    optimizer = make_optimizer(config, model)
    images, few = config.batch_size, max(1, config.batch_size // 4)
    short, long = (_time_of_a_step(config, model, optimizer, count) for count in (few, images))
    if few == images:
        return Seconds(0.0, long / images)
    per_image = max(long - short, long / 4) / (images - few)
    return Seconds(max(0.0, short - few * per_image), per_image)


def _time_of_a_step(config: TrainConfig, model: nn.Module, optimizer: torch.optim.Optimizer,
                    images: int) -> float:
    side = config.model.image_size
    pixels, labels = torch.zeros(images, config.model.channels, side, side), torch.zeros(images, dtype=torch.long)
    times: list[float] = []
    while len(times) < 3 or sum(times) < ENOUGH:
        start = time.thread_time()  # of this thread alone: others may be busy
        optimizer.zero_grad()
        F.cross_entropy(model(pixels), labels).backward()
        if config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        times.append(time.thread_time() - start)
    return min(times)  # the others were the first, or held up by something else


def _some_model(config: ViTConfig) -> nn.Module:
    """Weights from a stream of its own: other threads may be drawing from torch's, in an order that must hold."""
    with torch.device("meta"):
        model = build(config)
    model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.05, 0.05, generator=generator)
    return model.train()
