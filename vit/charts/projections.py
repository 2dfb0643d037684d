"""Pictures of the two ends of attention: a token becomes q, k and v, and all heads' results become one vector."""

import numpy as np

from vit.charts import colours, vectors
from vit.charts.picture import Legend, PixelPicture
from vit.numbers import number, plain


def terms(x: np.ndarray, column: np.ndarray, dark: bool, *, alt: str) -> PixelPicture:
    """A vector, one column of a matrix, and their products."""
    return vectors.product(x, column, ["x", "w", "x·w"], dark, alt=alt)


def concatenation(heads: np.ndarray, chosen: int, dark: bool) -> PixelPicture:
    """What all heads bring to a token (h, d_k), one after the other: a cell for each head."""
    count, d_k = heads.shape
    limit = colours.limit_of(heads)
    stripes = colours.paint(heads.reshape(1, -1), colours.signed(dark), -limit, limit)
    return PixelPicture(
        stripes.repeat(max(1, heads.size // 24), 0), 1, count, alt="what all heads bring, one after the other",
        width=900, lines=True, chosen=[chosen], column_names=[str(head) for head in range(1, count + 1)],
        corner="head →",
        labels=[f"head {head}: {', '.join(map(plain, values[:8]))}{' …' if d_k > 8 else ''}"
                for head, values in enumerate(heads, start=1)],
        legend=Legend(colours.signed(dark), -limit, limit, f"{count} · {d_k} = {heads.size} numbers, on one scale"),
    )


def shares(put_in: np.ndarray, chosen: int, dark: bool) -> PixelPicture:
    """How much each head puts into one number: (h,)."""
    limit = colours.limit_of(put_in)
    return PixelPicture(
        colours.paint(put_in[None], colours.signed(dark), -limit, limit).repeat(2, 1), 1, len(put_in), width=900,
        alt="how much of the number each head puts in", chosen=[chosen], lines=True,
        labels=[f"head {head}: {number(value)}" for head, value in enumerate(put_in, start=1)],
        words=dict(enumerate(map(plain, put_in))) if len(put_in) <= vectors.WORDS_FIT else {},
        legend=Legend(colours.signed(dark), -limit, limit, "what each head puts into this number"),
    )
