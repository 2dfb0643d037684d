"""Pictures of vectors: as rows of numbers, and of what two of them give when they are multiplied."""

from collections.abc import Sequence

import numpy as np

from vit.charts import colours
from vit.charts.picture import Legend, PixelPicture
from vit.numbers import number, plain

WORDS_FIT = 16  # numbers beside each other that can be written out
STRIPE = 8  # pixels: height of a row of stripes


def row(
    values: np.ndarray, dark: bool, *, alt: str, caption: str, kind: str = "number", width: int = 560,
    chosen: Sequence[int] = (),
) -> PixelPicture:
    """A vector as what it is, one row; its numbers are written out where they have room."""
    count, limit = len(values), colours.limit_of(values)
    fits = count <= WORDS_FIT
    cells = colours.paint(values[None], colours.signed(dark), -limit, limit)
    return PixelPicture(
        cells.repeat(2, 1) if fits else cells.repeat(count // WORDS_FIT, 0), 1, count, alt=alt, width=width,
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
        colours.paint(scaled, colours.signed(dark), -1, 1).repeat(STRIPE, 0), 3, count, width=900, alt=alt,
        row_names=names, labels=[f"number {i % count + 1}: {number(value)}" for i, value in enumerate(rows.ravel())],
        legend=Legend(colours.signed(dark), "−", "+",
                      "each row on its own scale, up to " + ", ".join(map(number, limits))),
    )
