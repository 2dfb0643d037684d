"""Dots and mirrors: what is drawn must be what was measured."""

import numpy as np
import pytest

from vit.charts import repeats
from vit.studies.repeats import Mirrors, Repeats
from vit.ui import markup

FOUND = Repeats(("without flips", "with flips"), {0: 95.0, 1: 96.0, 2: 94.0}, {0: 90.0, 1: 92.0})


def test_every_run_is_a_dot_and_twins_are_joined():
    joined, first, second, *_ = repeats.dots(FOUND).figure.data
    assert list(first.x) == [95.0, 96.0, 94.0]
    assert list(second.x) == [90.0, 92.0]
    assert list(joined.x) == [95.0, 90.0, None, 96.0, 92.0, None]


def test_the_interval_is_that_of_the_differences_and_zero_is_in_sight():
    figure = repeats.dots(FOUND).figure
    interval, differences, mean = figure.data[3:]
    assert list(differences.x) == [5.0, 4.0]
    assert list(interval.x) == [pytest.approx(FOUND.found.low), pytest.approx(FOUND.found.high)]
    assert list(mean.x) == [4.5]
    low, high = figure.layout.xaxis2.range
    assert low < min(0, FOUND.found.low) < FOUND.found.high < high


@pytest.mark.parametrize("second", [{}, {0: 90.0}])
def test_without_a_second_pair_there_is_no_interval(second):
    figure = repeats.dots(Repeats(("a", "b"), {0: 95.0}, second)).figure
    assert len(figure.data) == 4


def test_mirror_images_stand_beside_images_with_what_both_twins_read_of_them():
    images = np.random.default_rng(0).integers(0, 256, (10, 28, 28), dtype=np.uint8)
    found = Mirrors([98.0] * 10, [95.0] + [20.0] * 9, [97.0] * 10, [80.0] * 10)
    picture = repeats.mirrors(found, images, list("0123456789"))
    first, second = picture.values["rows"][:2]
    assert (first["same"], second["same"]) == (True, False)
    assert (first["read"], first["taught"], first["change"]) == ("95", "80", "−1.0")
    assert first["source"] != first["mirrored"]
    html = markup.render(picture.template, alt=picture.alt, **picture.values)
    assert html.count("<figure") == 10
    assert html.count("pw-same") == 1
