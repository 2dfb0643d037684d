import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from vit import data
from vit.drawing import ink

SEVEN = [[(100, 90), (240, 85), (190, 180), (150, 300)], [(120, 190), (230, 185)]]
MIDDLE = 13.5  # row and column of the middle of 28 pixels

coordinates = st.floats(0, 200)
drawings = st.lists(st.lists(st.tuples(coordinates, coordinates), min_size=2, max_size=8), min_size=1, max_size=4)
any_canvas = arrays.arrays(np.uint8, st.tuples(st.integers(0, 40), st.integers(0, 40), st.just(4)))
quick = settings(deadline=None, max_examples=40)


def canvas_of(grey: np.ndarray) -> np.ndarray:
    return np.dstack([grey, grey, grey, np.full_like(grey, 255)])


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the ink that is not the same, after moving by at most the pixel that rounding may decide."""
    nearest = min(
        np.abs(np.roll(one, (dy, dx), (0, 1)).astype(int) - other).sum() for dy in (-1, 0, 1) for dx in (-1, 0, 1)
    )
    return nearest / (one.sum(dtype=int) + other.sum(dtype=int))


def centre_of_mass(image: np.ndarray) -> tuple[float, float]:
    mass = image.astype(float)
    return tuple(np.average(np.arange(28), weights=mass.sum(axis)) for axis in (0, 1))


def placed(strokes, scale=1.0, x=0.0, y=0.0):
    return [[(a * scale + x, b * scale + y) for a, b in stroke] for stroke in strokes]


def large_enough(strokes) -> bool:
    """A drawing within the size of the brush is a dot, whatever the pen did there."""
    return np.ptp(np.concatenate(strokes), axis=0).max() > 40


def test_a_drawing_becomes_28x28_white_ink_on_black():
    for found in (ink.from_strokes(SEVEN, 400), ink.from_canvas(ink.draw_strokes(SEVEN, 400))):
        assert found.image.shape == (28, 28)
        assert found.image.dtype == np.uint8
        assert found.image.max() == 255
        assert found.image[0].max() == found.image[:, 0].max() == 0


def test_the_longer_side_of_the_digit_is_20_pixels():
    for found in (ink.from_strokes(SEVEN, 400), ink.from_canvas(ink.draw_strokes(SEVEN, 400))):
        assert np.count_nonzero(found.image.any(1)) == 20
        assert np.count_nonzero(found.image.any(0)) < 20


def test_the_steps_lead_from_the_canvas_to_the_picture():
    for found in (ink.from_strokes(SEVEN, 400), ink.from_canvas(ink.draw_strokes(SEVEN, 400))):
        steps = {step.name: step.image for step in found.steps}
        assert list(steps) == ["found", "cropped", "fitted", "centred"]
        left, top, right, bottom = found.box
        assert np.array_equal(steps["cropped"], steps["found"][top:bottom, left:right])
        (x, y), (height, width) = found.shift, steps["fitted"].shape
        assert np.array_equal(steps["fitted"], steps["centred"][y : y + height, x : x + width])
        assert steps["centred"] is found.image
        assert found.scale * max(steps["cropped"].shape) == pytest.approx(max(height, width))
        moved = np.add(found.centre_of_mass, found.shift)
        assert moved == pytest.approx(centre_of_mass(found.image))


def test_what_was_found_cannot_be_changed():
    found = ink.from_strokes(SEVEN, 400)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.image = None
    for step in found.steps:
        with pytest.raises(ValueError, match="read-only"):
            step.image[0, 0] = 1


@pytest.mark.parametrize("colour", [(0, 0, 0, 255), (0, 0, 0, 0), (255, 255, 255, 255), (14, 17, 23, 255)])
def test_a_canvas_of_one_colour_holds_no_digit(colour):
    assert ink.from_canvas(np.full((50, 60, 4), colour, np.uint8)) is None


def test_nothing_drawn_gives_nothing():
    assert ink.from_strokes([], 400) is None
    assert ink.from_strokes([[], []], 400) is None
    assert ink.from_canvas(np.zeros((0, 10, 4), np.uint8)) is None


def test_what_nobody_can_see_is_not_ink():
    canvas = np.zeros((50, 50, 4), np.uint8)
    canvas[20:30, 20:30, :3] = 3
    canvas[..., 3] = 255
    assert ink.from_canvas(canvas) is None


def test_a_tap_is_a_dot_of_the_pens_size_in_the_middle():
    tap = ink.from_strokes([[(30, 50)]], 400).image
    assert np.count_nonzero(tap) == 9
    assert centre_of_mass(tap) == pytest.approx((14, 14))
    trembling = ink.from_strokes([[(30, 50), (31, 50)]], 400).image
    assert difference(tap, trembling) < 0.4


def test_a_dot_on_a_canvas_fills_the_box():
    dot = ink.from_canvas(ink.draw_strokes([[(30, 50)]], 100, brush=10)).image
    assert np.count_nonzero(dot.any(0)) == np.count_nonzero(dot.any(1)) == 20
    assert dot[14, 14] == 255


def test_only_the_part_on_the_canvas_is_seen():
    inside = ink.from_strokes([[(100, 100), (100, 300), (400, 300)]], 400).image
    beyond = ink.from_strokes([[(100, 100), (100, 300), (900, 300), (math.nan, 3)], [(-5, 0)]], 400).image
    assert np.abs(inside.astype(int) - beyond).max() <= 32  # the cut is made to a pixel of the canvas
    endless = ink.from_strokes([[(100, 100), (100, 300), (1e308, 300), (-1e308, 300), (math.inf, 0)]], 400).image
    assert endless.any()
    assert ink.from_strokes([[(500, 100), (500, 300)]], 400) is None


@given(drawings, st.floats(0.3, 5), st.floats(0, 1000), st.floats(0, 1000))
@quick
def test_strokes_may_be_moved_and_scaled(strokes, scale, x, y):
    assume(large_enough(strokes))
    here = ink.from_strokes(strokes, 200).image
    there = ink.from_strokes(placed(strokes, scale, x, y), 2000 if scale > 1 else 200 * scale + 1000)
    assume(there is not None and np.ptp(np.concatenate(strokes), axis=0).max() * scale > 70)
    assert difference(here, there.image) < 0.05


@given(drawings, st.integers(0, 90), st.integers(0, 90))
@quick
def test_a_drawing_may_be_anywhere_on_the_canvas(strokes, x, y):
    canvas = ink.draw_strokes(placed(strokes, x=10, y=10), 220, brush=10)
    moved = np.zeros((320, 320, 4), np.uint8)
    moved[..., 3] = 255
    moved[y : y + 220, x : x + 220] = canvas
    assert np.array_equal(ink.from_canvas(canvas).image, ink.from_canvas(moved).image)


@given(drawings, st.floats(0.7, 2))
@quick
def test_a_drawing_on_the_canvas_may_be_of_any_size(strokes, scale):
    assume(large_enough(strokes))
    one = ink.from_canvas(ink.draw_strokes(placed(strokes, 1, 20, 20), 240, brush=10)).image
    side = math.ceil(240 * scale)
    other = ink.from_canvas(ink.draw_strokes(placed(strokes, scale, 20, 20), side, brush=10 * scale)).image
    assert difference(one, other) < 0.2


@given(any_canvas)
@quick
def test_any_canvas_has_an_answer(canvas):
    found = ink.from_canvas(canvas)
    assert found is None or found.image.shape == (28, 28)


@given(any_canvas)
@quick
def test_the_centre_of_mass_is_within_a_pixel_of_the_middle(canvas):
    found = ink.from_canvas(canvas)
    assume(found is not None)
    assert np.abs(np.subtract(centre_of_mass(found.image), MIDDLE)).max() <= 1


@given(drawings)
@quick
def test_the_centre_of_mass_of_strokes_is_within_a_pixel_of_the_middle(strokes):
    image = ink.from_strokes(strokes, 200).image
    assert np.abs(np.subtract(centre_of_mass(image), MIDDLE)).max() <= 1


def test_a_lopsided_drawing_is_shown_whole():
    canvas = np.zeros((200, 200, 4), np.uint8)
    canvas[..., 3] = 255
    canvas[90:110, 20:50, :3] = 255
    canvas[98:102, 178:182, :3] = 255
    image = ink.from_canvas(canvas).image
    assert np.abs(np.subtract(centre_of_mass(image), MIDDLE)).max() <= 1
    assert image[:, 20:].any()
    assert not image[:, :2].any()


@pytest.mark.parametrize(
    ("paper", "pen"),
    [
        ((14, 17, 23, 255), (255, 255, 255, 255)),
        ((255, 255, 255, 255), (0, 0, 0, 255)),
        ((0, 0, 0, 0), (255, 255, 255, 255)),
        ((255, 255, 255, 0), (0, 0, 0, 255)),
        ((30, 60, 200, 255), (250, 240, 60, 255)),
    ],
)
def test_ink_is_whatever_differs_from_the_background(paper, pen):
    white_on_black = ink.draw_strokes(SEVEN, 400)
    weight = white_on_black[..., :1] / 255
    coloured = (weight * pen + (1 - weight) * paper).round().astype(np.uint8)
    assert difference(ink.from_canvas(white_on_black).image, ink.from_canvas(coloured).image) < 0.05


@pytest.mark.parametrize("brush", [1, 3, 10, 40])
def test_the_brush_does_not_change_what_is_read(brush):
    expected = ink.from_strokes(SEVEN, 400).image
    assert difference(ink.from_canvas(ink.draw_strokes(SEVEN, 400, brush)).image, expected) < 0.25


def test_strokes_are_as_wide_as_mnists():
    images, labels = data.load("mnist", "train")
    ones = images[:4000][labels[:4000] == 1]
    upright = ones[(ones > 0).any(1).sum(1) <= 5]
    theirs = np.median(upright[:, 10:18].sum(2) / 255)
    line = [[(200, 50), (200, 350)]]
    for found in (ink.from_strokes(line, 400), ink.from_canvas(ink.draw_strokes(line, 400, 40))):
        assert found.image[10:18].sum(1).mean() / 255 == pytest.approx(theirs, abs=0.6)


def test_mnists_own_digits_stay_as_they_are():
    images, _ = data.load("mnist", "validation")
    for image in images[:60]:
        large = np.asarray(Image.fromarray(image).resize((280, 280), Image.Resampling.BICUBIC))
        assert difference(ink.from_canvas(canvas_of(large)).image, image) < 0.4


@pytest.mark.parametrize("bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 4))])
def test_an_array_that_is_no_canvas_is_refused(bad):
    with pytest.raises(ValueError, match="A canvas is uint8 of shape"):
        ink.from_canvas(bad)
