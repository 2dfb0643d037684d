import re

import numpy as np
import pytest

from vit import explain
from vit.charts import colours, logits
from vit.explain import LogitLens
from vit.trace import trace_image


@pytest.fixture
def trace(small_model, digit):
    return trace_image(small_model, digit)


@pytest.fixture
def shares(trace, small_model):
    return explain.contributions(trace, small_model, 3, 8)


def lens_of(*rows):
    return LogitLens(np.log(rows), np.array(rows))


def test_the_lens_has_a_row_per_depth_and_writes_what_is_worth_writing(trace, small_model):
    lens = explain.logit_lens(trace, small_model)
    picture = logits.lens(lens, label=4)
    assert (picture.rows, picture.columns) == (4, 10)
    for cell, probability in enumerate(lens.probabilities.ravel()):
        assert picture.words.get(cell) == (f"{probability:.0%}" if probability >= 0.005 else None)
        assert f"{probability:.2%}" in picture.labels[cell]
    tall, wide = logits.LENS_CELL
    np.testing.assert_array_equal(
        picture.pixels[tall // 2, wide // 2], colours.paint(lens.probabilities[0, 0], colours.WARM, 0, 1)
    )


@pytest.mark.parametrize(("rows", "settled", "told"), [
    ([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], 0, "Stopped after the embedding or later"),
    ([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]], 1, "Stopped after block 1 or later"),
    ([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], 2, "Only the last block"),
])
def test_the_answer_settles_where_it_no_longer_changes(rows, settled, told):
    assert logits.settled_at(lens_of(*rows)) == settled
    assert told in logits.settling(settled, len(rows) - 1, winner=0)


def test_the_products_of_the_reading_sum_to_the_logit(trace, small_model):
    row = small_model.head.weight[6].detach().numpy()
    lines = logits.reading(trace.cls_out, row)
    assert lines[2].sum() + small_model.head.bias[6].item() == pytest.approx(trace.logits[6], abs=1e-4)
    pixels = logits.bar_codes(lines, dark=False)
    strongest = np.abs(lines).argmax(1)
    for number, column in enumerate(strongest):  # each row reaches the end of its own scale
        end = colours.paint(np.sign(lines[number, column]), colours.signed(False), -1, 1)
        np.testing.assert_array_equal(pixels[number * 8, column], end)


def test_the_table_shows_all_logits_their_exponentials_and_their_sum(trace):
    table = logits.softmax_table(trace.logits, trace.probabilities, label=2, dark=True)
    for logit, probability in zip(trace.logits, trace.probabilities, strict=True):
        assert f">{logits.plain(logit)}<" in table
        assert f">{logits.size(np.exp(float(logit)))}<" in table
        assert f">{probability:.1%}<" in table
    assert f">{logits.size(np.exp(trace.logits.astype(float)).sum())}<" in table
    assert table.count(colours.ACCENT) == 1


def test_the_written_sum_adds_up():
    written = logits.written_sum(np.log(np.array([2.0, 30.0, 400.0])), label=1)
    assert re.sub("<[^>]*>", "", written) == "2.000 + 30.00 + 400.0 = 432.0"


@pytest.mark.parametrize(("value", "text", "latex"), [
    (0.0231, "0.0231", "0.0231"), (0.55, "0.550", "0.550"), (27.66, "27.66", "27.66"),
    (134.71, "134.7", "134.7"), (12345.6, "12,346", "12{,}346"), (0, "0.0000", "0.0000"),
    (3.2e9, "3.20·10<sup>9</sup>", r"3.20 \cdot 10^{9}"),
    (2e-6, "2.00·10<sup>−6</sup>", r"2.00 \cdot 10^{-6}"),
])
def test_sizes_of_any_magnitude_are_readable(value, text, latex):
    assert logits.size(value) == text
    assert logits.latex_size(value) == latex


def test_nothing_is_never_negative():
    assert (logits.plain(-0.001), logits.with_sign(-0.001)) == ("0.00", "+0.00")
    assert (logits.plain(-0.01), logits.with_sign(-0.01)) == ("−0.01", "−0.01")


def test_the_softmax_line_ends_with_the_models_probability(trace):
    for label in range(10):
        line = logits.softmax_line(trace.logits, trace.probabilities, label)
        if trace.probabilities[label] >= 1e-4:
            assert line.endswith(f"= {trace.probabilities[label]:.4f}")
        assert rf"e^{{{trace.logits[label]:.2f}}}" in line


def bars_of(html):
    """(left, right, colour) of each bar, in percent of its row."""
    found = re.findall(r"left:([\d.]+)%;width:([\d.]+)%;min-width:2px;background:(#\w+)", html)
    return [(float(left), float(left) + float(width), colour) for left, width, colour in found]


def test_parts_come_in_the_order_of_the_model(shares):
    assert logits.steps(shares) == [
        ("z₀", (shares.embedding,)), ("1", (shares.attention[0], shares.mlp[0])),
        ("2", (shares.attention[1], shares.mlp[1])), ("3", (shares.attention[2], shares.mlp[2])),
        ("fixed", (shares.constant,)),
    ]


def test_each_bar_of_the_waterfall_starts_where_the_last_ended(shares):
    values = [value for _, values in logits.steps(shares) for value in values]
    sums = np.cumsum([0, *values])
    places = (sums - sums.min()) / (sums.max() - sums.min()) * 100
    *bars, total = bars_of(logits.waterfall(shares, dark=False))
    blue, red = logits.poles(False)
    assert len(bars) == 8
    for number, (left, right, colour) in enumerate(bars):
        assert (left, right) == pytest.approx(sorted(places[number : number + 2]), abs=0.02)
        assert colour == (red if values[number] >= 0 else blue)
    assert total[:2] == pytest.approx(sorted([places[0], places[-1]]), abs=0.02)


def test_the_waterfall_writes_every_part_and_the_total(shares):
    html = logits.waterfall(shares, dark=True)
    for value in (shares.embedding, *shares.attention, *shares.mlp, shares.constant):
        assert f">{logits.with_sign(value)}<" in html
    assert f">{logits.plain(shares.total)}<" in html


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_term_beyond_all_numbers_is_written_as_such():
    scores = np.array([800.0, 0.0])
    assert "∞" in logits.written_sum(scores, 0)
    assert "∞" in logits.softmax_line(scores, np.array([1.0, 0.0]), 0)
