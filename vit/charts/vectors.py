"""Pictures of vectors: as rows of numbers, and of what two of them give when they are multiplied."""

from collections.abc import Sequence

import numpy as np

from vit.charts import colours
from vit.charts.mosaic import GAP
from vit.charts.picture import Legend, PixelPicture
from vit.numbers import number, plain

WORDS_FIT = 16  # numbers beside each other that can be written out
STRIPE = 8  # pixels: height of a row of stripes
MOST_STRIPES, FEWEST_STRIPES = 256, 32  # beside each other: more would be too thin to point at


def in_a_line(count: int) -> int:
    """How many stripes stand beside each other: all, or so many that lines of them are full."""
    full = max(n for n in range(1, min(count, MOST_STRIPES) + 1) if count % n == 0)
    return full if full >= FEWEST_STRIPES else count


def folded(painted: np.ndarray, tall: int, dark: bool) -> tuple[np.ndarray, int, int]:
    """Vectors in colours (k, D, 3) as rows of stripes: pixels, rows and columns. A long vector takes several rows one
    below the other, with a line below its last, so cells count on as its numbers do."""
    count, D, _ = painted.shape
    columns = in_a_line(D)
    rows = count * D // columns
    pixels = painted.reshape(rows, columns, 3).repeat(tall, 0)
    if rows > count:
        pixels[D // columns * tall - 1 : -1 : D // columns * tall] = GAP[dark]
    return pixels, rows, columns


def at_first_lines(names: Sequence[str], D: int) -> list[str]:
    """A name for each vector, at the first of its rows."""
    lines = D // in_a_line(D)
    return [name if line == 0 else "" for name in names for line in range(lines)]


def row(
    values: np.ndarray, dark: bool, *, alt: str, caption: str, kind: str = "number", width: int = 560,
    chosen: Sequence[int] = (),
) -> PixelPicture:
    """A vector as what it is, one row; its numbers are written out where they have room."""
    count, limit = len(values), colours.limit_of(values)
    fits = count <= WORDS_FIT
    cells = colours.paint(values[None], colours.signed(dark), -limit, limit)
    stripes = (cells.repeat(2, 1), 1, count) if fits else folded(cells, in_a_line(count) // WORDS_FIT, dark)
    return PixelPicture(
        *stripes, alt=alt, width=width,
        lines=fits, chosen=chosen, labels=[f"{kind} {i}: {number(value)}" for i, value in enumerate(values, start=1)],
        words=dict(enumerate(map(plain, values))) if fits else {},
        legend=Legend(colours.signed(dark), -limit, limit, caption),
    )


def product(left: np.ndarray, right: np.ndarray, names: Sequence[str], dark: bool, *, alt: str) -> PixelPicture:
    """Two vectors and their products as three rows of stripes, each on its own scale around 0."""
    rows = np.stack([left, right, left * right])  # (3, D)
    limits = [colours.limit_of(values) for values in rows]
    scaled = rows / np.array(limits)[:, None]
    count = len(left)
    return PixelPicture(
        *folded(colours.paint(scaled, colours.signed(dark), -1, 1), STRIPE, dark), width=900, alt=alt,
        row_names=at_first_lines(names, count),
        labels=[f"number {i % count + 1}: {number(value)}" for i, value in enumerate(rows.ravel())],
        legend=Legend(colours.signed(dark), "−", "+",
                      "each row on its own scale, up to " + ", ".join(map(number, limits))),
    )
