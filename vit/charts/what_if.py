"""Pictures of a model with parts taken away."""

from collections.abc import Collection, Sequence

import numpy as np

from vit.charts import attention, colours, patches
from vit.charts.embedding import mosaic
from vit.trace import ForwardTrace

GONE = (74, 80, 92)  # what was taken away


def digit(image: np.ndarray, patch_size: int, order: Sequence[int], hidden: Collection[int]) -> np.ndarray:
    """The image as the model gets it: its patches in this order, and grey places that nobody can look at."""
    grid = len(image) // patch_size
    tiles = patches.cut(patches.picture(image), patch_size)[list(order)]
    tiles[list(hidden)] = GONE
    rows = tiles.reshape(grid, grid, *tiles.shape[1:]).swapaxes(1, 2)
    return rows.reshape(*image.shape[:2], -1)


def heads(trace: ForwardTrace, off: Collection[tuple[int, int]]) -> np.ndarray:
    """Where CLS looks in every head of every layer; those that are switched off in grey."""
    looks = attention.maps(trace, 0)
    tiles = colours.paint(looks / looks.max((2, 3), keepdims=True).clip(1e-9), colours.WARM, 0, 1)
    for layer, head in off:
        tiles[layer, head] = GONE
    return mosaic(tiles.reshape(-1, *tiles.shape[2:]), looks.shape[1])
