"""Pictures of an image as patches, and of a patch as numbers."""

from collections.abc import Collection, Sequence

import numpy as np

from vit.charts import colours
from vit.charts.embedding import mosaic
from vit.config import ViTConfig

PER_LINE = 25


def token_word(token: int) -> str:
    return f"patch {token}" if token else "CLS"


def picture(image: np.ndarray) -> np.ndarray:
    """The image as RGB pixels: grey ones as white ink on near-black."""
    return image if image.ndim == 3 else colours.paint(image, colours.INK, 0, 255)


def cut(image: np.ndarray, patch_size: int) -> np.ndarray:
    """(H, W, …) to (N, P, P, …), in reading order."""
    grid, P = len(image) // patch_size, patch_size
    tiles = image.reshape(grid, P, grid, P, *image.shape[2:]).swapaxes(1, 2)
    return tiles.reshape(grid * grid, P, P, *image.shape[2:])


def rearranged(image: np.ndarray, patch_size: int, order: Sequence[int], hidden: Collection[int]) -> np.ndarray:
    """The image with its patches in this order, and grey where nobody can look."""
    grid = len(image) // patch_size
    tiles = cut(picture(image), patch_size)[list(order)]
    tiles[list(hidden)] = colours.GONE
    rows = tiles.reshape(grid, grid, *tiles.shape[1:]).swapaxes(1, 2)
    return rows.reshape(*image.shape[:2], -1)


def sentence(image: np.ndarray, patch_size: int) -> np.ndarray:
    """All patches in the order in which the model reads them, in lines like those of a text."""
    return mosaic(cut(picture(image), patch_size), PER_LINE, fill=90)


def most_inked(image: np.ndarray, patch_size: int) -> int:
    return int(cut(image, patch_size).reshape(-1, patch_size * patch_size * image[0, 0].size).sum(1).argmax())


def other_sizes(config: ViTConfig) -> list[dict]:
    """What every patch size that fits would do to the number of tokens and the work of attention."""
    sizes = [size for size in range(2, config.image_size + 1) if config.image_size % size == 0]
    rows = []
    for size in sizes:
        tokens = (config.image_size // size) ** 2 + 1
        rows.append({
            "P": f"{size} x {size}", "patches N": tokens - 1, "numbers per patch": size * size * config.channels,
            "(N+1)² scores per head": tokens**2, "work of attention": f"{tokens**2 / config.tokens**2:.3g} x",
        })
    return rows
