"""Where one number comes from, as a table of the terms that it is the sum of."""

from typing import TYPE_CHECKING, NamedTuple

from vit.charts.picture import TemplatePicture
from vit.numbers import column, number

if TYPE_CHECKING:
    from vit.explain import DotProduct


class Row(NamedTuple):
    place: int | None  # of the two factors; None for what is no product
    words: str
    product: str


def unfolded(
    name: str, sentence: str, product: "DotProduct", left: str, right: str, count_from: int = 1
) -> TemplatePicture:
    """A product's largest terms, what the others sum to, the bias and the total; factors are called left and right."""
    *products, rest, bias, total = column(
        [*(term.product for term in product.terms), product.rest_sum, product.bias, product.total]
    )
    rows = [Row(term.index + count_from, f"{number(term.a)} × {number(term.b)}", shown)
            for term, shown in zip(product.terms, products, strict=True)]
    if product.rest_count:
        rows.append(Row(None, f"{product.rest_count} other terms", rest))
    if product.bias:
        rows.append(Row(None, "bias", bias))
    values = {"name": name, "sentence": sentence, "left": left, "right": right, "rows": rows, "total": total}
    return TemplatePicture("provenance", values, alt=f"the largest terms of {name}")
