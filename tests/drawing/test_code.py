import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from vit import drawing
from vit.config import PRESETS
from vit.drawing import BadDrawing, Drawing

points = some.tuples(some.integers(0, drawing.SIDE), some.integers(0, drawing.SIDE))
strokes = some.lists(some.lists(points, min_size=1, max_size=30), min_size=1, max_size=6)


@given(strokes)
@settings(deadline=None, max_examples=60)
def test_a_link_restores_the_drawing_number_for_number(drawn):
    shared = drawing.from_strokes(drawn)
    assert drawing.from_code(shared.code) == shared
    assert drawing.from_strokes(shared.strokes).strokes == shared.strokes


@given(strokes)
@settings(deadline=None, max_examples=60)
def test_what_is_left_out_of_a_stroke_lies_within_a_pixel_of_what_is_kept(drawn):
    for whole, kept in zip(drawn, drawing.from_strokes(drawn).strokes, strict=True):
        assert whole[0] == kept[0]
        assert whole[-1] == kept[-1]
        assert max(distance_to(point, kept) for point in whole) < 1


@pytest.mark.parametrize(("code", "image", "found"), [
    ("pAXCPH7K2NFpy.CgWOAR", "32d1b82a4859eb3d", "c752a45e7bbdcb44"),
    ("p3mo", "26edad6a05af5c6f", "21886c2c52d50fbf"),
    ("p3mo4Wq48t", "0b5894d78d3219d8", "2899200dc73536cd"),
    ("p000g5G.g00bWU", "4cf6ff8c1633197e", "ce5c86abab572abb"),
    ("s0", "8f6a418c9a639f9e", None),
    ("ieNpjYBi8wPdfNjMOKeHH__5x4pAL_PdvKSN2KfbT__554tBm-u_fL1wuafv3bwsuuSP_fhjgkLL69-8tLm35__614JJb_O-dDA4pmz__7uPS5v_v"
     "3yw8RprikJL58-8SLm1h__4145LL_PdKBJfc-n9nWHFIsV7-dwSXNuZ5_xbgTA5Sc7Npn-YAqg82IA", "edf650ef1b50d392", None),
])  # fmt: skip
def test_an_old_link_shows_the_same_pixels(code, image, found):
    shared = drawing.from_code(code)
    assert fingerprint(shared.image()) == image
    if found is None:
        assert shared.ink() is None
    else:
        assert fingerprint(shared.ink().steps[0].image) == found
        assert drawing.from_strokes(shared.strokes).code == code


def fingerprint(pixels):
    return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]


def test_a_pen_that_goes_straight_back_is_not_forgotten():
    (stroke,) = drawing.from_strokes([[(168, 20), (168, 300), (168, 30)]]).strokes
    assert stroke == ((168, 20), (168, 300), (168, 30))


def distance_to(point, line):
    p = np.array(point, float)
    ends = np.array(line, float)
    if len(ends) == 1:
        return np.hypot(*(p - ends[0]))
    best = np.inf
    for a, b in pairwise(ends):
        length = (b - a) @ (b - a)
        t = np.clip((p - a) @ (b - a) / length, 0, 1) if length else 0
        best = min(best, np.hypot(*(a + t * (b - a) - p)))
    return best


@pytest.mark.parametrize("beyond", [(0, 400), (400, 0), (0, -100), (-100, 0)], ids=str)
def test_a_stroke_that_leaves_the_canvas_is_cut_at_its_edge(beyond):
    start = np.array([168, 168])
    (stroke,) = drawing.from_strokes([[start, start + beyond]]).strokes
    assert stroke[0] == (168, 168)
    assert stroke[-1] == tuple(np.clip(start + beyond, 0, drawing.SIDE))


def test_a_slanted_stroke_keeps_its_slant_to_the_edge():
    (stroke,) = drawing.from_strokes([[(168, 100), (118, 0), (68, -100)]]).strokes
    assert stroke == ((168, 100), (118, 0))


def test_a_stroke_beside_the_canvas_is_no_drawing():
    assert drawing.from_strokes([[(-20, 10), (-5, 300)]]) is None


def test_an_empty_canvas_is_no_drawing():
    assert drawing.from_strokes([]) is None
    assert drawing.from_strokes([[]]) is None


def test_endless_scribbling_still_fits_into_a_link():
    random = np.random.default_rng(0)
    scribble = [[tuple(point) for point in random.integers(0, drawing.SIDE, (40, 2))] for _ in range(400)]
    shared = drawing.from_strokes(scribble)
    assert len(shared.code) < 4 * drawing.MOST_POINTS
    assert drawing.from_code(shared.code) == shared


def test_a_sample_is_the_test_set_s_digit():
    seven = drawing.from_code("s0")
    assert (seven.kind, seven.label) == ("sample", 7)
    assert seven.image().shape == (28, 28)


def test_a_picture_travels_without_loss():
    picture = np.random.default_rng(0).integers(0, 256, (28, 28)).astype(np.uint8)
    shared = drawing.from_picture(picture)
    assert np.array_equal(drawing.from_code(shared.code).image(), picture)


@pytest.mark.parametrize("code", [
    "", "x", "s", "s-1", "s10000", "s1e3", "p", "pab", "pabcd", "p...", "p<script>", "pabc.", "i", "iAAAA", "i!!!!",
    drawing.from_picture(np.zeros((28, 28))).code,
    "p" + "a" * 100_000, "i" + "A" * 100_000, "d=s1", "ｓ１",
])
def test_a_damaged_or_hostile_code_is_refused_with_a_sentence(code):
    with pytest.raises(BadDrawing, match=r"link"):
        drawing.from_code(code)


def test_a_small_code_that_unpacks_to_much_is_refused():
    bomb = drawing.from_picture(np.zeros((2000, 2000)))
    with pytest.raises(BadDrawing):
        drawing.from_code(bomb.code[:2000])


@pytest.mark.parametrize("preset", ["article", "cifar", "base"])
def test_a_drawing_fits_every_model(preset):
    config = PRESETS[preset]
    fitted = drawing.for_model(Drawing("s0").image(), config)
    assert fitted.shape == (config.image_size,) * 2 + ((3,) if config.channels == 3 else ())
    assert fitted.max() > 100
