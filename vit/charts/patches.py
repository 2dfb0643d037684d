"""Pictures of an image as patches, and of a patch as numbers."""

from collections.abc import Collection, Sequence

import numpy as np

from vit.charts import colours
from vit.charts.mosaic import mosaic
from vit.charts.picture import PixelPicture
from vit.config import ViTConfig

PER_LINE = 25
CHANNELS = "red", "green", "blue"
WORDS_FIT = 8  # a patch with fewer pixels a side has room for their numbers


def token_word(token: int) -> str:
    return f"patch {token}" if token else "CLS"


def token_name(token: int, config: ViTConfig) -> str:
    if token == 0:
        return "CLS"
    row, column = divmod(token - 1, config.grid)
    return f"patch {token} · row {row + 1}, column {column + 1}"


def in_colour(image: np.ndarray) -> np.ndarray:
    """The image as RGB pixels: grey ones as white ink on near-black."""
    return image if image.ndim == 3 else colours.paint(image, colours.INK, 0, 255)


def cut(image: np.ndarray, patch_size: int) -> np.ndarray:
    """(H, W, …) to (N, P, P, …), in reading order."""
    grid, P = len(image) // patch_size, patch_size
    tiles = image.reshape(grid, P, grid, P, *image.shape[2:]).swapaxes(1, 2)
    return tiles.reshape(grid * grid, P, P, *image.shape[2:])


def most_inked(image: np.ndarray, patch_size: int) -> int:
    return int(cut(image, patch_size).reshape(-1, patch_size * patch_size * image[0, 0].size).sum(1).argmax())


def most_varied(image: np.ndarray, patch_size: int) -> int:
    """The patch with the most contrast."""
    return int(cut(image, patch_size).reshape(-1, patch_size * patch_size, image[0, 0].size).std(1).mean(-1).argmax())


def grid(image: np.ndarray, config: ViTConfig, patch: int, thing: str) -> PixelPicture:
    """The whole picture, with lines where it is cut."""
    names = [f"patch {i + 1}: row {i // config.grid + 1}, column {i % config.grid + 1}" for i in range(config.patches)]
    return PixelPicture(
        in_colour(image), config.grid, config.grid, alt=f"your {thing}, cut into {config.patches} patches", width=490,
        chosen=[patch], labels=names, lines=True,
    )


def one_patch(image: np.ndarray, config: ViTConfig, patch: int) -> PixelPicture:
    """The chosen patch, enlarged, with its pixels as numbers where they have room."""
    P, tile = config.patch_size, cut(image, config.patch_size)[patch]
    grey = tile if tile.ndim == 2 else tile.mean(-1)
    return PixelPicture(
        in_colour(tile), P, P, alt="the chosen patch, enlarged", width=230, lines=True,
        words=dict(enumerate(f"{value:.0f}" for value in grey.ravel())) if P < WORDS_FIT and tile.ndim == 2 else {},
        labels=[] if tile.ndim == 2 else ["red {}, green {}, blue {}".format(*pixel) for pixel in tile.reshape(-1, 3)],
    )


def three_colours(image: np.ndarray, config: ViTConfig, patch: int) -> PixelPicture:
    """The chosen patch three times: its red, its green and its blue, with their numbers where they have room."""
    P, tile = config.patch_size, cut(image, config.patch_size)[patch]
    alone = np.zeros((P, 3, P, 3), np.uint8)
    for channel in range(3):
        alone[:, channel, :, channel] = tile[..., channel]
    values = tile.swapaxes(1, 2).reshape(P, 3 * P)  # rows of red, green and blue pixels beside each other
    return PixelPicture(
        alone.reshape(P, 3 * P, 3), P, 3 * P, alt="the patch's red, green and blue", width=640, lines=True,
        words=dict(enumerate(map(str, values.ravel()))) if P < WORDS_FIT else {},
        labels=[f"{CHANNELS[i // P % 3]} {value}" for i, value in enumerate(values.ravel())],
    )


def sentence(image: np.ndarray, config: ViTConfig, patch: int) -> PixelPicture:
    """All patches in the order in which the model reads them, in lines like those of a text."""
    tiles = cut(in_colour(image), config.patch_size)
    return PixelPicture(
        mosaic(tiles, PER_LINE, fill=90), -(-len(tiles) // PER_LINE), PER_LINE, alt="all patches side by side",
        width=1400, chosen=[patch], labels=[f"patch {i + 1}" for i in range(len(tiles))],
    )


def rearranged(image: np.ndarray, config: ViTConfig, order: Sequence[int], hidden: Collection[int], thing: str
               ) -> PixelPicture:
    """The image with its patches in this order, and grey where nobody can look."""
    tiles = cut(in_colour(image), config.patch_size)[list(order)]
    tiles[list(hidden)] = colours.GONE
    rows = tiles.reshape(config.grid, config.grid, *tiles.shape[1:]).swapaxes(1, 2)
    return PixelPicture(
        rows.reshape(*image.shape[:2], -1), config.grid, config.grid, width=490, lines=True,
        alt=f"your {thing}; click patches to hide them",
        labels=[f"patch {patch + 1} · {'hidden: click to show' if place in hidden else 'seen: click to hide'}"
                for place, patch in enumerate(order)],
    )


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
