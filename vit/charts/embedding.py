"""Pictures of the linear projection, its filters, positions and the first residual stream."""

import numpy as np

from vit.charts import colours, patches, vectors
from vit.charts.mosaic import GAP, mosaic
from vit.charts.picture import Legend, PixelPicture
from vit.config import ViTConfig
from vit.numbers import number, plain

FINE, LARGE = 3, 8  # pixels of the mosaic for each of a filter's, unless that has so many a side
MANY_FILTERS = 256
GREY = [[0.0, "#000000"], [0.5, "#808080"], [1.0, "#ffffff"]]  # from what is not wanted to what is, of each colour
MOST_CELLS = 10_000  # whose numbers are sent to be pointed at
WORDS_FIT = 5  # a patch with fewer pixels a side has room for their numbers


# Pixels


def patch_shape(values: np.ndarray, channels: int) -> np.ndarray:
    """Flattened patches or filters (…, C·P·P) as (…, C·P, P): squares, for each colour one below the other."""
    side = round((values.shape[-1] / channels) ** 0.5)
    return values.reshape(*values.shape[:-1], channels * side, side)


def in_colour(filters: np.ndarray) -> np.ndarray:
    """Filters (…, 3·P·P) as pictures (…, P, P, 3): grey where a weight is 0, brighter in a colour that is wanted."""
    side = round((filters.shape[-1] / 3) ** 0.5)
    squares = np.moveaxis(filters.reshape(*filters.shape[:-1], 3, side, side), -3, -1)
    return (127.5 * (1 + squares / colours.limit_of(filters))).round().astype(np.uint8)


def matrix(values: np.ndarray, dark: bool) -> np.ndarray:
    limit = colours.limit_of(values)
    return colours.paint(values, colours.signed(dark), -limit, limit)


def filters(weights: np.ndarray, channels: int, dark: bool) -> tuple[np.ndarray, float]:
    """E's columns, which lie in rows of weights, as one mosaic on one shared scale, and the end of that scale."""
    tiles = in_colour(weights) if channels == 3 else matrix(patch_shape(weights, channels), dark)
    fine = FINE if tiles.shape[1] < LARGE else 1  # a gap of one of their pixels would be too wide
    tiles = tiles.repeat(fine, 1).repeat(fine, 2)
    return mosaic(tiles, mosaic_columns(len(weights)), fill=GAP[dark]), colours.limit_of(weights)


def mosaic_columns(count: int) -> int:
    columns = 32 if count > MANY_FILTERS else 16
    return columns if count % columns == 0 else round(count**0.5)


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
    """A patch, the column of E that it meets, and their products, each in the shape of the patch; of a patch in
    colours its red, green and blue."""
    C = config.channels
    return (
        square(patch_shape(x, C), f"patch {patch + 1}, as the model gets it", dark),
        square(patch_shape(column, C), f"filter {output + 1}: a column of E", dark),
        square(patch_shape(x * column, C), "their products", dark),
    )


def square(values: np.ndarray, alt: str, dark: bool) -> PixelPicture:
    """(P, P), or (3P, P) for three colours."""
    tall, side = values.shape
    colour = [name for name in patches.CHANNELS for _ in range(side)] if tall > side else []
    return PixelPicture(
        matrix(values, dark), tall, side, alt=alt, width=160 if colour else 230, lines=True,
        labels=[f"{name} {number(value)}".strip() for name, value in
                zip([name for name in colour for _ in range(side)] or [""] * values.size, values.ravel(), strict=True)],
        row_names=[name if row % side == side // 2 else "" for row, name in enumerate(colour)],
        words=dict(enumerate(map(plain, values.ravel()))) if side < WORDS_FIT else {},
        legend=signed_legend(colours.limit_of(values), "", dark),
    )


def outputs(e: np.ndarray, output: int, dark: bool) -> PixelPicture:
    """A patch's embedding as stripes."""
    return PixelPicture(
        *vectors.folded(matrix(e[None], dark), 12, dark), alt="the patch's embedding as stripes", width=900,
        chosen=[output], labels=[f"{i + 1}: {number(value)}" for i, value in enumerate(e)],
        legend=signed_legend(colours.limit_of(e), "this patch", dark),
    )


def all_filters(weights: np.ndarray, channels: int, output: int, dark: bool) -> PixelPicture:
    """The columns of E, each in the shape of a patch."""
    count, columns = len(weights), mosaic_columns(len(weights))
    pixels, limit = filters(weights, channels, dark)
    return PixelPicture(
        pixels, -(-count // columns), columns, alt="all filters", width=1200, chosen=[output],
        labels=[f"filter {i + 1}" for i in range(count)],
        legend=signed_legend(limit, "one scale for all", dark) if channels == 1 else
        Legend(GREY, -limit, limit, "red, green and blue, one scale for all"),
        photo=weights.shape[1] >= channels * LARGE * LARGE,
    )


def token_sum(rows: np.ndarray, output: int, dark: bool) -> PixelPicture:
    """What a token is, plus where it is, gives what enters the first block: (3, D) as three bar codes."""
    D = rows.shape[1]
    return PixelPicture(
        *vectors.folded(matrix(rows, dark), 6, dark), alt="token plus position", width=1100,
        row_names=vectors.at_first_lines(["token", "+ pos", "= z₀"], D),
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
    squares[patch] = in_colour(column) if config.channels == 3 else matrix(patch_shape(column, 1), dark)
    rows = squares.reshape(config.grid, config.grid, P, P, 3).swapaxes(1, 2)
    return PixelPicture(
        rows.reshape(*image.shape[:2], 3), config.grid, config.grid, width=300, lines=True, chosen=[patch],
        alt=f"the kernel standing on patch {patch + 1}",
    )
