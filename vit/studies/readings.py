"""What is read off the weights of a run when it is done: numbers, and lists with one number for each block or class."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from vit import checkpoints, data
from vit.config import TrainConfig
from vit.explain import attention_distance
from vit.measures import confusion
from vit.model import VisionTransformer
from vit.trace import trace_image
from vit.training import initial_model

Reading = float | list[float]
DIGITS = 50  # that are looked at
BATCH = 64  # whose gradients are
MIRRORED_CHUNK = 200


def scores(config: TrainConfig, weights: Path) -> dict[str, Reading]:
    """The variance of the scores before softmax, block by block, before training and after it."""
    found: dict[str, Reading] = {}
    for when, model in (("start", fresh(config)), ("end", checkpoints.load(weights))):
        seen = [trace_image(model, image).blocks for image in some_images(config)]
        by_block = [float(np.mean([blocks[number].scores.var() for blocks in seen]))
                    for number in range(config.model.depth)]
        found |= {f"variance of scores at the {when}, by block": by_block,
                  f"variance of scores at the {when}": float(np.mean(by_block))}
    return found


def gradients(config: TrainConfig, weights: Path) -> dict[str, Reading]:
    """How long the gradient of each block is before the first step, on one batch."""
    model = fresh(config).train()
    images, labels = data.load(config.dataset, "validation")
    F.cross_entropy(model(data.normalise(images[:BATCH])), torch.tensor(labels[:BATCH])).backward()
    lengths = [float(torch.stack([parameter.grad.norm() for parameter in block.parameters()
                                  if parameter.grad is not None]).norm()) for block in model.blocks]
    tiny = 1e-30  # a gradient that has vanished altogether has no logarithm
    ratio = float(np.log10(max(lengths[0], tiny)) - np.log10(max(lengths[-1], tiny)))
    return {"gradients by block": lengths, "log10 of gradients, first block over last": ratio}


def attention(config: TrainConfig, weights: Path) -> dict[str, Reading]:
    """How far patches look, block by block, relative to looking at all patches alike."""
    model, shape = checkpoints.load(weights), config.model
    everywhere = np.full((1, shape.tokens, shape.tokens), 1 / shape.tokens)
    uniform = float(attention_distance(everywhere, shape.grid, shape.patch_size).mean())
    heads = np.mean([[attention_distance(block.pattern, shape.grid, shape.patch_size) for block in
                      trace_image(model, image).blocks] for image in some_images(config)], axis=0) / uniform  # (L, h)
    return {"distance by block": [float(value) for value in heads.mean(1)],
            "distance of the widest head by block": [float(value) for value in heads.max(1)],
            "distance in the first block": float(heads[0].mean()),
            "distance of the widest head in the first block": float(heads[0].max())}


def mirrored(config: TrainConfig, weights: Path) -> dict[str, Reading]:
    """Accuracy on each class, on validation images as they are and mirrored, in percent."""
    model = checkpoints.load_any(weights)
    images, labels = data.load(config.dataset, "validation")
    found: dict[str, Reading] = {}
    for name, seen in (("as they are", images), ("mirrored", images[:, :, ::-1])):
        with torch.inference_mode():
            answers = np.concatenate([model(data.normalise(seen[start : start + MIRRORED_CHUNK])).argmax(1).numpy()
                                      for start in range(0, len(seen), MIRRORED_CHUNK)])
        table = confusion(labels, answers, config.model.classes)
        found[f"accuracy by class, {name}"] = [float(value) for value in 100 * np.diag(table) / table.sum(1)]
    return found


READINGS: dict[str, Callable[[TrainConfig, Path], dict[str, Reading]]] = {
    "scores": scores, "gradients": gradients, "attention": attention, "mirrored": mirrored,
}


def fresh(config: TrainConfig) -> VisionTransformer:
    model = initial_model(config)
    if not isinstance(model, VisionTransformer):
        raise ValueError("Only a transformer has scores and blocks to read.")
    return model.eval()


def some_images(config: TrainConfig) -> np.ndarray:
    return data.load(config.dataset, "validation")[0][:DIGITS]
