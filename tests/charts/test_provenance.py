import numpy as np
import pytest

from vit import explain
from vit.charts.provenance import unfolded
from vit.numbers import MINUS
from vit.ui import markup


def number(text):
    return float(text.replace(MINUS, "-"))


def picture_of(a, b, bias=0.0, **more):
    return unfolded("logit", "A sentence.", explain.dot_product(a, b, bias), "y", "w", **more)


def test_the_rows_add_up_to_the_total():
    a, b = np.random.default_rng(1).normal(size=(2, 40))
    picture = picture_of(a, b, bias=0.5)
    rows = picture.values["rows"]
    assert [row.words for row in rows[3:]] == ["37 other terms", "bias"]
    assert sum(number(row.product) for row in rows) == pytest.approx(number(picture.values["total"]), abs=0.005)
    assert number(picture.values["total"]) == pytest.approx(a @ b + 0.5, abs=0.001)


def test_terms_are_counted_as_the_page_counts():
    a, b = [1, 2, 3], [1, 1, 1]
    assert [row.place for row in picture_of(a, b).values["rows"]] == [3, 2, 1]
    assert [row.place for row in picture_of(a, b, count_from=0).values["rows"]] == [2, 1, 0]


def test_what_is_not_there_has_no_row():
    assert [row.words for row in picture_of([2, 3], [0.5, -1]).values["rows"]] == [f"3 × {MINUS}1", "2 × 0.500"]


def test_a_name_is_shown_as_text():
    product = explain.dot_product([1.0], [2.0])
    picture = unfolded("<i>x</i>", "<b>loud</b>", product, "y", "w")
    html = markup.render(picture.template, alt=picture.alt, **picture.values)
    assert "<i>" not in html
    assert "&lt;b&gt;loud" in html
    assert "y<sub>1</sub> · w<sub>1</sub>" in html
