import numpy as np
import pytest

from vit import explain, numbers
from vit.charts import colours, logits, vectors
from vit.config import ViTConfig
from vit.numbers import Size, plain, with_sign
from vit.trace import trace_image

DIGITS = tuple("0123456789")
THOUSAND = tuple(map(str, range(1000)))
COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)


@pytest.fixture(params=["small", "coloured"])
def model(request, small_model, lively):
    return small_model if request.param == "small" else lively(COLOURED)


@pytest.fixture
def trace(model, digit):
    if model.config.channels == 1:
        return trace_image(model, digit)
    return trace_image(model, np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8))


@pytest.fixture
def shares(trace, model):
    return explain.contributions(trace, model, 3, 8)


def test_the_lens_has_a_row_per_depth_and_writes_what_is_worth_writing(trace, model):
    lens = explain.logit_lens(trace, model)
    picture = logits.lens(lens, 4, DIGITS)
    assert (picture.rows, picture.columns) == (model.config.depth + 1, 10)
    assert picture.row_names[:2] == ["z₀", "1"]
    assert (picture.legend.low, picture.legend.high) == (0, 1)
    for cell, probability in enumerate(lens.probabilities.ravel()):
        assert picture.words.get(cell) == (f"{probability:.0%}" if probability >= 0.005 else None)
        assert f"{probability:.2%}" in picture.labels[cell]
    assert picture.labels[13] == (f"after block 1, class 3\nprobability {lens.probabilities[1, 3]:.2%}\n"
                                  f"logit {plain(lens.logits[1, 3])}")
    tall, wide = logits.LENS_CELL
    np.testing.assert_array_equal(
        picture.pixels[tall // 2, wide // 2], colours.paint(lens.probabilities[0, 0], colours.WARM, 0, 1)
    )
    assert (picture.pixels[:, 4 * wide] == colours.rgb(colours.ACCENT)).all()


@pytest.mark.parametrize(("settled", "told"), [
    (0, "Stopped after the embedding or later, the model would say 7 as well."),
    (1, "Stopped after block 1 or later"), (2, "Only the last block brings it to 7."),
])
def test_the_page_tells_when_the_answer_was_settled(settled, told):
    assert told in logits.settling(settled, depth=2, winner="7")


def test_the_products_of_the_reading_reach_the_ends_of_their_scales(trace, model):
    weights = model.head.weight[6].detach().numpy()
    picture = logits.reading(trace.cls_out, weights, "6", dark=False)
    rows = np.stack([trace.cls_out, weights, trace.cls_out * weights])
    assert (picture.rows, picture.columns) == rows.shape
    assert picture.labels[2 * len(weights)] == f"number 1: {numbers.number(rows[2, 0])}"
    assert picture.legend.caption.endswith(numbers.number(np.abs(rows[2]).max()))
    for number, strongest in enumerate(np.abs(rows).argmax(1)):  # each row has its own scale
        end = colours.paint(np.sign(rows[number, strongest]), colours.signed(False), -1, 1)
        np.testing.assert_array_equal(picture.pixels[number * vectors.STRIPE, strongest], end)


def test_the_table_shows_all_logits_their_exponentials_and_their_sum(trace):
    picture = logits.softmax_table(trace.logits, trace.probabilities, 2, DIGITS, dark=True)
    rows, terms = picture.values["rows"], np.exp(trace.logits.astype(float))
    assert [row.logit for row in rows] == list(map(plain, trace.logits))
    assert [row.term for row in rows] == list(map(Size.of, terms))
    assert [row.text for row in rows] == [f"{share:.1%}" for share in trace.probabilities]
    assert picture.values["sum"] == Size.of(terms.sum())
    assert [row.name for row in rows if row.chosen] == ["2"]
    assert [row.name for row in rows if row.best] == [str(trace.prediction)]


def test_the_bars_of_logits_begin_in_the_middle():
    values = np.array([2.0, -1.0, 0.0])
    rows = logits.softmax_table(values, explain.softmax(values), 0, DIGITS, dark=False).values["rows"]
    assert [(row.start, row.length, row.against) for row in rows] == [
        (0.5, 0.5, False), (0.25, 0.25, True), (0.5, 0, False)
    ]


def test_the_written_sum_adds_up():
    values = logits.written_sum(np.log(np.array([2.0, 30.0, 400.0])), label=1).values
    assert [term.mantissa for term, _, _ in values["terms"]] == ["2.000", "30.00", "400.0"]
    assert values["sum"].mantissa == "432.0"
    assert [chosen for _, chosen, _ in values["terms"]] == [False, True, False]


@pytest.mark.parametrize(("value", "text", "latex"), [
    (0.0231, ("0.0231", ""), "0.0231"), (0.55, ("0.550", ""), "0.550"), (27.66, ("27.66", ""), "27.66"),
    (134.71, ("134.7", ""), "134.7"), (12345.6, ("12,346", ""), "12{,}346"), (0, ("0.0000", ""), "0.0000"),
    (3.2e9, ("3.20", "9"), r"3.20 \cdot 10^{9}"), (2e-6, ("2.00", "−6"), r"2.00 \cdot 10^{-6}"),
])
def test_sizes_of_any_magnitude_are_readable(value, text, latex):
    assert Size.of(value) == text
    assert numbers.latex_size(value) == latex


def test_nothing_is_never_negative():
    assert (plain(-0.001), with_sign(-0.001)) == ("0.00", "+0.00")
    assert (plain(-0.01), with_sign(-0.01)) == ("−0.01", "−0.01")


def test_the_softmax_line_ends_with_the_models_probability(trace):
    for label in range(10):
        line = logits.softmax_line(trace.logits, trace.probabilities, label)
        if trace.probabilities[label] >= 1e-4:
            assert line.endswith(f"= {trace.probabilities[label]:.4f}")
        assert rf"e^{{{trace.logits[label]:.2f}}}" in line


@pytest.mark.parametrize("dark", [False, True])
def test_the_waterfall_goes_part_by_part_to_the_lead_of_the_winner(trace, shares, dark):
    figure = logits.waterfall(shares, "3", "8", dark).figure
    bars = figure.data[0]
    *parts, total = bars.x
    assert parts == pytest.approx([step.value for step in explain.steps(shares)])
    assert sum(parts) == pytest.approx(total)
    assert total == pytest.approx(float(trace.logits[3]) - float(trace.logits[8]), abs=1e-4)
    assert list(bars.measure) == ["relative"] * len(parts) + ["total"]
    blue, red = logits.poles(dark)
    assert (bars.increasing.marker.color, bars.decreasing.marker.color) == (red, blue)
    assert bars.totals.marker.color == colours.ACCENT


def test_the_waterfall_writes_every_part_and_how_far_it_has_come(shares):
    picture = logits.waterfall(shares, "3", "8", dark=True)
    bars = picture.figure.data[0]
    steps = explain.steps(shares)
    assert list(bars.text) == [*(with_sign(step.value) for step in steps), f"<b>{with_sign(shares.total)}</b>"]
    names = picture.figure.layout.yaxis.ticktext
    assert (*names[:3], *names[-2:]) == ("z₀", "1 attention", "1 MLP", "fixed", "<b>all</b>")
    beside = picture.figure.layout.yaxis2
    assert list(beside.ticktext) == [*(plain(step.after) for step in steps), ""]
    assert (beside.side, beside.range) == ("right", picture.figure.layout.yaxis.range)
    assert bars.hovertext[1] == (f"block 1 · attention: {with_sign(shares.attention[0], 4)}<br>"
                                 f"so far {with_sign(steps[1].after, 4)}")
    assert f"lead of 3 over 8: z₀ {with_sign(shares.embedding)}, 1 attention" in picture.alt


def test_all_bars_of_the_waterfall_and_their_numbers_have_room(shares):
    figure = logits.waterfall(shares, "3", "8", dark=False).figure
    low, high = figure.layout.xaxis.range
    sums = [0, *(step.after for step in explain.steps(shares))]
    assert low < min(sums) - 0.1 * np.ptp(sums)
    assert high > max(sums) + 0.1 * np.ptp(sums)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_term_beyond_all_numbers_is_written_as_such():
    scores = np.array([800.0, 0.0])
    assert logits.written_sum(scores, 0).values["sum"].mantissa == "∞"
    assert "∞" in logits.softmax_line(scores, np.array([1.0, 0.0]), 0)


# A thousand classes


def test_of_a_thousand_classes_the_first_ten_the_chosen_one_and_all_others_are_shown():
    scores = np.random.default_rng(0).normal(size=1000) * 3
    probabilities, order = explain.softmax(scores), np.argsort(-scores)
    label = int(order[500])
    rows = logits.softmax_table(scores, probabilities, label, THOUSAND, dark=False).values["rows"]
    assert [row.name for row in rows] == [*map(str, order[:10]), str(label), "989 others"]
    assert sum(row.share for row in rows) == pytest.approx(1, abs=1e-3)
    assert (rows[-1].logit, rows[-1].length) == ("", 0)
    terms = logits.written_sum(scores, label).values["terms"]
    assert [others for _, _, others in terms] == [""] * 11 + ["989 others"]
    left = np.exp(np.delete(scores, [*order[:10], label])).sum()
    assert terms[-1][0] == rows[-1].term == Size.of(left)


def test_the_lens_of_a_thousand_classes_has_room_for_the_likeliest():
    scores = np.random.default_rng(0).normal(size=(3, 1000))
    values = explain.LogitLens(scores, explain.softmax(scores))
    order = np.argsort(-scores[-1])
    label = int(order[700])
    shown = logits.lens_classes(values, label)
    assert shown == [*order[:10].tolist(), label]
    picture = logits.lens(values, label, THOUSAND)
    assert (picture.rows, picture.columns) == (3, 11)
    assert picture.column_names == list(map(str, shown))
    assert f"class {label}\nprobability {values.probabilities[1, label]:.2%}" in picture.labels[2 * 11 - 1]


def test_classes_with_names_are_called_by_them(trace, model):
    names = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "steam locomotive")
    picture = logits.lens(explain.logit_lens(trace, model), 3, names)
    assert picture.column_names[3] == "cat"
    assert picture.column_names[9] == "steam…"
    assert "after the embedding, cat\n" in picture.labels[3]
    rows = logits.softmax_table(trace.logits, trace.probabilities, 3, names, dark=False).values["rows"]
    assert [row.name for row in rows] == list(names)
    assert numbers.latex_word("7") == "7"
    assert numbers.latex_word(r"\\href{x}$ cat") == r"\text{  href x   cat}"
