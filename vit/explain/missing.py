"""What the answer stands on: each patch and each head taken away in turn, in as few passes as memory allows."""

from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from vit.config import ViTConfig
from vit.data import normalise
from vit.model import Probe, VisionTransformer, inside
from vit.trace import ForwardTrace
from vit.variants import Variant

NUMBERS_AT_ONCE = 49 * 50 * (16 * 50 + 4 * 128 + 512)  # what the article's model holds of its 49 patches in one block


def at_once(config: ViTConfig) -> int:
    """How many pictures may pass through a model beside each other."""
    held = config.tokens * (config.heads * config.tokens + 4 * config.width + config.mlp_width)
    return max(1, NUMBERS_AT_ONCE // held)


def occlusion(trace: ForwardTrace, model: VisionTransformer) -> np.ndarray:
    """How much probability the answer loses when nobody can look at a patch: (N,), one forward pass for each."""
    alone = torch.eye(len(trace.tokens), dtype=torch.bool)[1:, None, None]  # (N, 1, 1, T)
    image, left = normalise(trace.image[None], model.normalisation), []
    for hidden in alone.split(at_once(model.config)):

        def hide(name: str, block: int | None, value: Tensor, hidden: Tensor = hidden) -> Tensor:
            return value.masked_fill(hidden, -torch.inf) if name == "scores" else value

        with torch.inference_mode():
            left.append(model(image.expand(len(hidden), -1, -1, -1), hide).softmax(-1)[:, trace.prediction])
    return float(trace.probabilities[trace.prediction]) - torch.cat(left).numpy().astype(float)


def without_each_head(trace: ForwardTrace, model: VisionTransformer) -> np.ndarray:
    """What the model answers when one single head is off, for every head of every block: (L, h, classes)."""
    config = model.config
    heads = [(block, head) for block in range(config.depth) for head in range(config.heads)]
    many = at_once(config)
    with torch.inference_mode():
        answers = [_without_each(heads[i : i + many], trace, model) for i in range(0, len(heads), many)]
    return torch.cat(answers).numpy().astype(float).reshape(config.depth, config.heads, -1)


def _without_each(heads: list[tuple[int, int]], trace: ForwardTrace, model: VisionTransformer) -> Tensor:
    """Probabilities without each of these heads, which are in the order of the model.

    Up to its own block a head that is off changes nothing: its picture joins the others there, as the trace has it.
    """
    joining = {block: [head for _, head in group] for block, group in groupby(heads, lambda place: place[0])}
    z = torch.empty(0, *trace.tokens.shape)
    for number in range(heads[0][0], model.config.depth):
        off = joining.get(number, [])
        fresh = torch.tensor(trace.blocks[number].resid_pre).expand(len(off), -1, -1)
        z = torch.cat([z, fresh])  # (those so far, T, D)
        z = model.blocks[number](z, inside(number, _own_probe(model, _last_without(off))))
    return model.head(model.norm(z[:, 0])).softmax(-1)


def _last_without(heads: list[int]) -> Probe:
    """Of the last pictures in a batch, each loses one of these heads."""
    def silence(name: str, block: int | None, value: Tensor) -> Tensor:
        if name != "heads" or not heads:
            return value
        value = value.clone()
        value[torch.arange(len(value) - len(heads), len(value)), heads] = 0
        return value

    return silence


def _own_probe(model: VisionTransformer, probe: Probe) -> Probe:
    """A variant may change values on their way to a probe."""
    return model.within(probe) if isinstance(model, Variant) else probe
