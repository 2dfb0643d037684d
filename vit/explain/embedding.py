"""How a patch becomes a vector, and what positions tell."""

from math import sqrt

import numpy as np
import torch
from torch import nn

from vit.data import normalise
from vit.explain.arithmetic import cosines
from vit.model import VisionTransformer


def position_similarity(position_embeddings: np.ndarray) -> np.ndarray:
    """Cosine similarity of the patches' positions, CLS left out: (T, D) -> (N, N) (figure 7, centre)."""
    return cosines(position_embeddings[1:])


def neighbour_similarity(similarity: np.ndarray) -> tuple[float, float]:
    """The mean similarity of patches that touch, also at a corner, and of all others: (N, N) -> two numbers."""
    grid = round(sqrt(len(similarity)))
    rows, columns = np.divmod(np.arange(grid * grid), grid)
    apart = np.maximum(np.abs(rows[:, None] - rows), np.abs(columns[:, None] - columns))
    return float(similarity[apart == 1].mean()), float(similarity[apart > 1].mean())


def most_alike(similarity: np.ndarray) -> np.ndarray:
    """For each, which other one is most like it: (N, N) -> (N,)."""
    itself = np.eye(len(similarity), dtype=bool)
    return np.where(itself, -np.inf, similarity).argmax(-1)


def conv2d_difference(model: VisionTransformer, image: np.ndarray) -> float:
    """The largest difference between cutting and multiplying by E, and a Conv2d with the same weights."""
    config, projection = model.config, model.embedding.projection
    kernels = projection.weight.unflatten(1, (config.channels, config.patch_size, config.patch_size))
    with torch.inference_mode():
        pixels = normalise(np.asarray(image)[None], model.normalisation)
        ours = projection(model.embedding.cut(pixels))  # (1, N, D)
        convolved = nn.functional.conv2d(pixels, kernels, projection.bias, stride=config.patch_size)
        return float((ours - convolved.flatten(2).transpose(1, 2)).abs().max())
