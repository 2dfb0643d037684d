"""Pictures of the linear projection, its filters, positions and the first residual stream."""

import numpy as np

from vit.charts import colours, patches
from vit.charts.mosaic import GAP, mosaic
from vit.charts.picture import Legend, PixelPicture
from vit.config import ViTConfig
from vit.numbers import number, plain

FINE = 3  # pixels of the mosaic for each of a filter's
MOST_CELLS = 10_000  # whose numbers are sent to be pointed at
WORDS_FIT = 5  # a patch with fewer pixels a side has room for their numbers


# Pixels


def patch_shape(values: np.ndarray, channels: int) -> np.ndarray:
    """Flattened patches or filters (…, C·P·P) as squares (…, P, P); colour is averaged away."""
    side = round((values.shape[-1] / channels) ** 0.5)
    return values.reshape(*values.shape[:-1], channels, side, side).mean(-3)


def matrix(values: np.ndarray, dark: bool) -> np.ndarray:
    limit = colours.limit_of(values)
    return colours.paint(values, colours.signed(dark), -limit, limit)


def filters(weights: np.ndarray, channels: int, dark: bool) -> tuple[np.ndarray, float]:
    """E's columns, which lie in rows of weights, as one mosaic on one shared scale, and the end of that scale."""
    squares = patch_shape(weights, channels)
    tiles = matrix(squares, dark).repeat(FINE, 1).repeat(FINE, 2)  # a gap of one of their pixels would be too wide
    return mosaic(tiles, mosaic_columns(len(weights)), fill=GAP[dark]), colours.limit_of(squares)


def mosaic_columns(count: int) -> int:
    return 16 if count % 16 == 0 else round(count**0.5)


def position_maps(similarity: np.ndarray, dark: bool) -> np.ndarray:
    """For each patch, how alike its position is to every other: a grid of grids."""
    grid = round(len(similarity) ** 0.5)
    maps = similarity.reshape(-1, grid, grid)
    return mosaic(colours.paint(maps, colours.signed(dark), -1, 1), grid, fill=GAP[dark])


# Pictures


def signed_legend(limit: float, caption: str, dark: bool) -> Legend:
    """Of a scale that is centred at 0."""
    return Legend(colours.signed(dark), -limit, limit, caption)


def product(x: np.ndarray, column: np.ndarray, config: ViTConfig, patch: int, output: int, dark: bool
            ) -> tuple[PixelPicture, PixelPicture, PixelPicture]:
    """A patch, the column of E that it meets, and their products, each in the shape of the patch."""
    C = config.channels
    return (
        square(patch_shape(x, C), f"patch {patch + 1}, as the model gets it", dark),
        square(patch_shape(column, C), f"filter {output + 1}: a column of E", dark),
        square(patch_shape(x * column, C) * C, "their products", dark),  # of all colours: together they are the sum
    )


def square(values: np.ndarray, alt: str, dark: bool) -> PixelPicture:
    side = len(values)
    return PixelPicture(
        matrix(values, dark), side, side, alt=alt, width=230, lines=True, labels=list(map(number, values.ravel())),
        words=dict(enumerate(map(plain, values.ravel()))) if side < WORDS_FIT else {},
        legend=signed_legend(colours.limit_of(values), "", dark),
    )


def outputs(e: np.ndarray, output: int, dark: bool) -> PixelPicture:
    """A patch's embedding as stripes."""
    return PixelPicture(
        matrix(e[None], dark).repeat(12, 0), 1, len(e), alt="the patch's embedding as stripes", width=900,
        chosen=[output], labels=[f"{i + 1}: {number(value)}" for i, value in enumerate(e)],
        legend=signed_legend(colours.limit_of(e), "this patch", dark),
    )


def all_filters(weights: np.ndarray, channels: int, output: int, dark: bool) -> PixelPicture:
    """The columns of E, each in the shape of a patch."""
    count, columns = len(weights), mosaic_columns(len(weights))
    pixels, limit = filters(weights, channels, dark)
    return PixelPicture(
        pixels, -(-count // columns), columns, alt="all filters", width=1200, chosen=[output],
        labels=[f"filter {i + 1}" for i in range(count)], legend=signed_legend(limit, "one scale for all", dark),
    )


def token_sum(rows: np.ndarray, output: int, dark: bool) -> PixelPicture:
    """What a token is, plus where it is, gives what enters the first block: (3, D) as three bar codes."""
    D = rows.shape[1]
    return PixelPicture(
        matrix(rows, dark).repeat(6, 0), 3, D, alt="token plus position", width=1100,
        row_names=["token", "+ pos", "= z₀"],
        chosen=[output, D + output, 2 * D + output],
        labels=[f"{i % D + 1}: {number(value)}" for i, value in enumerate(rows.ravel())],
        legend=signed_legend(colours.limit_of(rows), "one scale for all three", dark),
    )


def all_positions(similarity: np.ndarray, most_alike: np.ndarray, patch: int, dark: bool) -> PixelPicture:
    """A small map for each patch: how alike its position is to all others."""
    grid = round(len(similarity) ** 0.5)
    return PixelPicture(
        position_maps(similarity, dark), grid, grid, alt="similarity of position embeddings", width=640,
        chosen=[patch], labels=[f"patch {i + 1}: most like patch {other + 1}" for i, other in enumerate(most_alike)],
        legend=signed_legend(1, "cosine, one scale for all", dark),
    )


def all_tokens(tokens: np.ndarray, config: ViTConfig, token: int, dark: bool) -> PixelPicture:
    """z₀: a row for each token; each of its numbers can be read, unless there are too many to send."""
    T, D = tokens.shape
    names = [patches.token_word(i) for i in range(T)]
    if tokens.size <= MOST_CELLS:
        columns = D
        labels = [f"{names[i // D]}, number {i % D + 1}: {number(value)}" for i, value in enumerate(tokens.ravel())]
    else:
        columns = 1
        labels = [f"{name}: from {number(row.min())} to {number(row.max())}"
                  for name, row in zip(names, tokens, strict=True)]
    return PixelPicture(
        matrix(tokens, dark), T, columns, alt="all tokens before the first block", width=1000,
        chosen=[token * columns], span=columns, labels=labels,
        row_names=["CLS", *(str(i) if i % config.grid == 0 else "" for i in range(1, T))],
        legend=signed_legend(colours.limit_of(tokens), "one scale for all", dark),
    )


def kernel_on(image: np.ndarray, column: np.ndarray, config: ViTConfig, patch: int, dark: bool) -> PixelPicture:
    """The image in grey with a filter laid on one of its patches, as a Conv2d's kernel stands on it."""
    P, squares = config.patch_size, patches.cut(patches.in_colour(image), config.patch_size)
    squares = squares // 2  # in the background
    squares[patch] = matrix(patch_shape(column, config.channels), dark)
    rows = squares.reshape(config.grid, config.grid, P, P, 3).swapaxes(1, 2)
    return PixelPicture(
        rows.reshape(*image.shape[:2], 3), config.grid, config.grid, width=300, lines=True, chosen=[patch],
        alt=f"the kernel standing on patch {patch + 1}",
    )
