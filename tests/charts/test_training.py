"""Runs as pictures: what is drawn must be what the run reported."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from tests.support.verdicts import LABELS, training_line, verdict
from vit import reports
from vit.charts import colours, training
from vit.charts.training import Line
from vit.datasets import DATASETS
from vit.ui import markup

NAMES = ("without flips", "with flips")


def test_curves_end_in_the_last_point_however_long_the_run():
    lines = [training_line(step, loss=1 / step) for step in range(1, 5000)]
    points = training.curves([Line("without flips", 0, lines)], "loss", "step").curves[0].points
    assert len(points) <= training.MOST_POINTS
    assert points[0] == (1, 1.0)
    assert points[-1] == (4999, round(1 / 4999, 4))


def test_curves_have_both_twins_training_and_validation_and_the_line_of_guessing():
    lines = [Line(name, side, [training_line(10), verdict([], step=10)]) for side, name in enumerate(NAMES)]
    for quantity, guess in (("loss", 2.3026), ("accuracy", 10)):
        picture = training.curves(lines, quantity, "seconds")
        assert [curve.name for curve in picture.curves] == [
            "without flips · training", "without flips · validation",
            "with flips · training", "with flips · validation",
        ]
        assert [curve.dots for curve in picture.curves] == [False, True, False, True]
        assert picture.level[0] == pytest.approx(guess)
        assert "guessing" in picture.level[1]
        assert picture.curves[0].points[0][0] == 1.0
        assert {(curve.colour, curve.dashed) for curve in picture.curves} == {
            (colours.NO_FLIP, False), (colours.FLIP, True)
        }


def test_the_older_of_two_runs_is_faded():
    lines = [Line("newer", 0, [training_line(10)]), Line("older", 0, [training_line(10)], faded=True)]
    assert [curve.faded for curve in training.curves(lines, "loss", "step").curves] == [False, False, True, True]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e309", "1e306", "1" + "0" * 400])
@pytest.mark.parametrize("name", ["loss", "accuracy", "seconds", "epoch", "step", "learning_rate"])
def test_no_number_that_json_cannot_hold_reaches_a_chart(name, value):
    line = reports.to_line(training_line(10)).replace(b"{", f'{{"{name}": {value}, '.encode(), 1)
    line = b",".join(part for part in line.split(b",") if not part.startswith(f' "{name}": '.encode()))
    damaged = [reports.from_line(line)] if reports.from_line(line) else []
    for quantity in ("loss", "accuracy"):
        for x in training.AXES:
            picture = training.curves([Line("a run", 0, [training_line(5), *damaged])], quantity, x)
            json.dumps(asdict(picture), allow_nan=False)
    picture = training.learning_rates([Line("a run", 0, [training_line(5), *damaged])], "step")
    json.dumps(asdict(picture), allow_nan=False)
    assert 0 <= picture.precision <= 12


def test_bars_show_accuracy_per_digit_and_the_change_that_flips_bring():
    twos = np.flatnonzero(LABELS == 2)
    options = training.class_bars((verdict([]), verdict(twos[:30])), DATASETS["mnist"].classes, NAMES).options
    assert [series["name"] for series in options["series"]] == list(NAMES)
    assert options["series"][0]["data"] == [100.0] * 10
    assert options["series"][1]["data"][2] == 70.0
    assert options["xAxis"]["data"][2] == "2\n−30"
    json.dumps(options, allow_nan=False)


def test_the_batch_frames_mirrored_images_only_and_says_which_they_are():
    images = np.full((10, 28, 28), 200, np.uint8)
    picture = training.batch(images, np.arange(10) == 1, step=7)
    assert picture.pixels.shape == (2 * 32, 8 * 32, 3)
    assert picture.pixels[0, 32].tolist() == [0xE0, 0x7B, 0x00]
    assert picture.pixels[0, 0].tolist() == picture.pixels[0, 64].tolist() != picture.pixels[0, 32].tolist()
    assert (picture.pixels[2:30, 34:62] == 200).all()
    assert picture.labels[:3] == ["as it is", "mirrored", "as it is"]
    coloured = training.batch(np.zeros((3, 32, 32, 3), np.uint8), np.zeros(3, bool), step=7)
    assert coloured.pixels.shape == (36, 8 * 36, 3)


def test_misread_images_stand_beside_their_mirror_images():
    images = np.random.default_rng(0).integers(0, 256, (1000, 28, 28), dtype=np.uint8)
    verdicts, classes = (verdict([]), verdict([2, 12])), DATASETS["mnist"].classes
    picture = training.misread(images, LABELS, [2, 12], verdicts, classes, mirrored=True)
    assert [(image["label"], image["answer"]) for image in picture.values["images"]] == [("2", "3"), ("2", "3")]
    assert picture.values["images"][0]["source"] != picture.values["images"][0]["mirrored"]
    alone = training.misread(images, LABELS, [2], verdicts, classes)
    assert "mirror" not in alone.alt + markup.render(alone.template, alt=alone.alt, **alone.values)


def test_learning_rates_are_drawn_as_they_were_however_small():
    """What warm-up does is seen: the line begins low."""
    warm = [training_line(step, learning_rate=min(1.0, step / 50) * 1e-5) for step in range(10, 110, 10)]
    cold = [training_line(step, learning_rate=1e-5) for step in range(10, 110, 10)]
    picture = training.learning_rates([Line("with warm-up", 0, warm), Line("without", 1, cold)], "step")
    first = picture.curves[0]
    assert first.points[0] == (10, pytest.approx(2e-6))
    assert first.points[-1] == (100, pytest.approx(1e-5))
    assert picture.level is None
    assert f"{first.points[0][1]:.{picture.precision}f}" == "0.0000020"


def test_what_a_run_says_of_itself_is_text():
    picture = training.progress("<i>with</i> flips", 1, ["failed", "<b>The disk</b> is full"], 0.5)
    html = markup.render(picture.template, alt=picture.alt, **picture.values)
    assert "<b>The disk" not in html
    assert "<i>" not in html
    assert "&lt;b&gt;The disk" in html
    assert picture.values["percent"] == 50
    assert training.progress("with flips", 1, [], 7.0).values["percent"] == 100


def test_only_digits_are_called_by_their_numbers():
    for dataset in DATASETS:
        names = DATASETS[dataset].classes
        assert len(set(names)) == 10
        assert (names == tuple("0123456789")) == (dataset == "mnist")
