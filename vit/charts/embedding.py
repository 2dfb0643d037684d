"""Pictures of the linear projection, its filters, positions and the first residual stream."""

import numpy as np

from vit.charts import colours
from vit.charts.mosaic import GAP, mosaic


def patch_shape(values: np.ndarray, channels: int) -> np.ndarray:
    """Flattened patches or filters (…, C·P·P) as squares (…, P, P); colour is averaged away."""
    side = round((values.shape[-1] / channels) ** 0.5)
    return values.reshape(*values.shape[:-1], channels, side, side).mean(-3)


def filters(weights: np.ndarray, channels: int, dark: bool) -> tuple[np.ndarray, float]:
    """E's rows as one mosaic on one shared scale, and the end of that scale."""
    squares = patch_shape(weights, channels)
    limit = colours.limit_of(squares)
    tiles = colours.paint(squares, colours.signed(dark), -limit, limit)
    return mosaic(tiles, mosaic_columns(len(weights)), fill=GAP[dark]), limit


def mosaic_columns(count: int) -> int:
    return 16 if count % 16 == 0 else round(count**0.5)


def position_maps(similarity: np.ndarray, dark: bool) -> np.ndarray:
    """For each patch, how alike its position is to every other: a grid of grids."""
    grid = round(len(similarity) ** 0.5)
    maps = similarity.reshape(-1, grid, grid)
    return mosaic(colours.paint(maps, colours.signed(dark), -1, 1), grid, fill=GAP[dark])


def bar_code(values: np.ndarray, dark: bool, height: int = 12) -> np.ndarray:
    """A vector as stripes on a scale that is centred at 0."""
    limit = colours.limit_of(values)
    return np.repeat(colours.paint(values[None], colours.signed(dark), -limit, limit), height, axis=0)


def matrix(values: np.ndarray, dark: bool) -> np.ndarray:
    limit = colours.limit_of(values)
    return colours.paint(values, colours.signed(dark), -limit, limit)
