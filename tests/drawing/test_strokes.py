import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from vit import data
from vit.drawing import ink, strokes


def path(*commands, **more):
    """A stroke as the canvas reports it: `left` and `top` are the centre of the curve."""
    return {"type": "Path", "originX": "center", "originY": "center", "path": [list(c) for c in commands], **more}


def test_a_stroke_on_the_canvas_is_followed_along_its_curve():
    drawing = {"objects": [path(("M", 10, 20), ("Q", 10, 20, 20, 20), ("Q", 40, 20, 40, 40), ("L", 40, 60))]}
    (stroke,) = strokes.from_fabric(drawing)
    assert stroke[0] == (10, 20)
    assert stroke[-1] == (40, 60)
    assert (35, 25) in stroke  # the curve's middle, a quarter, a half and a quarter of its three points
    assert max(math.dist(a, b) for a, b in pairwise(stroke)) <= 20


def test_a_stroke_that_was_moved_turned_or_resized_is_where_it_is_seen():
    line = ("M", 0, 0), ("L", 10, 0)
    places = {
        (5, 0, 1, 0): [(0, 0), (10, 0)],
        (105, 50, 1, 0): [(100, 50), (110, 50)],
        (5, 0, 2, 0): [(-5, 0), (15, 0)],
        (5, 0, 1, 90): [(5, -5), (5, 5)],
    }
    for (left, top, scale, angle), expected in places.items():
        (stroke,) = strokes.from_fabric({"objects": [path(*line, left=left, top=top, scaleX=scale, angle=angle)]})
        assert np.array(stroke) == pytest.approx(np.array(expected))
    (mirrored,) = strokes.from_fabric({"objects": [path(*line, left=5, top=0, flipX=True)]})
    assert mirrored == [(10, 0), (0, 0)]


PEN = [(59.25, 79.46875), (59.25, 79.46875), (84.25, 61.46875), (119.25, 57.46875), (149.25, 69.46875),
       (162.25, 94.46875), (149.25, 119.46875), (117.25, 139.46875), (109.25, 140.46875), (139.25, 149.46875),
       (169.25, 174.46875), (174.25, 189.46875)]
TOLD = path(  # what streamlit-drawable-canvas 0.13.0 told of it in Chromium when the pen was lifted
    ("M", 59.228, 79.49075), ("Q", 59.25, 79.46875, 71.75, 70.46875), ("Q", 84.25, 61.46875, 101.75, 59.46875),
    ("Q", 119.25, 57.46875, 134.25, 63.46875), ("Q", 149.25, 69.46875, 155.75, 81.96875),
    ("Q", 162.25, 94.46875, 155.75, 106.96875), ("Q", 149.25, 119.46875, 133.25, 129.46875),
    ("Q", 117.25, 139.46875, 113.25, 139.96875), ("Q", 109.25, 140.46875, 124.25, 144.96875),
    ("Q", 139.25, 149.46875, 156.75, 169.46875), ("L", 174.272, 189.49075), left=116.75, top=123.8817,
)


def test_a_stroke_that_nobody_moved_is_where_the_pen_was():
    (stroke,) = strokes.from_fabric({"objects": [TOLD]})
    assert stroke[0] == pytest.approx((59.228, 79.49075), abs=1e-4)
    assert stroke[-1] == pytest.approx((174.272, 189.49075), abs=1e-4)


def test_the_stroke_under_the_pen_is_the_one_that_the_canvas_tells_in_the_end():
    (told,) = strokes.from_fabric({"objects": [TOLD]})
    assert np.array(strokes.under_the_pen(PEN)) == pytest.approx(np.array(told), abs=1e-4)


def test_a_pen_that_has_not_moved_leaves_a_dot_and_no_pen_leaves_nothing():
    assert strokes.under_the_pen([(100, 80), (100, 80)]) == [(99.978, 80), (100.022, 80)]
    assert strokes.under_the_pen([]) == strokes.under_the_pen([(100, 80)]) == []


@pytest.mark.parametrize(
    "drawing", [None, {}, {"objects": []}, {"objects": [{"type": "Rect"}, {"type": "Path"}, path()]}]
)
def test_a_canvas_without_strokes_has_none(drawing):
    assert strokes.from_fabric(drawing) == []


def test_what_the_canvas_reports_for_a_tap_is_a_dot():
    tap = {"objects": [path(("M", 99.98, 80), ("L", 100.02, 80), left=100, top=80)]}
    assert np.count_nonzero(ink.from_strokes(strokes.from_fabric(tap), 336).image) == 9


def test_strokes_come_back_to_the_canvas_as_paths():
    paths = strokes.to_fabric([((1, 2), (3, 4)), ((5, 6),)])["objects"]
    assert [path["path"] for path in paths] == [[["M", 1, 2], ["L", 3, 4]], [["M", 5, 6], ["L", 5, 6]]]


def test_the_canvas_draws_with_the_brush_that_ink_is_made_for():
    (path,) = strokes.to_fabric([((1, 2), (3, 4))])["objects"]
    assert path["strokeWidth"] == strokes.BRUSH == round(strokes.BRUSH_SHARE * strokes.SIDE)
    drawn = ink.draw_strokes([[(50, 168), (286, 168)]], strokes.SIDE)
    assert np.count_nonzero(drawn[:, 168, 0]) == pytest.approx(strokes.BRUSH, abs=1)


def test_a_drawing_is_read_without_waiting_for_scipy():
    code = (
        "import sys; from vit import drawing, explain; drawing.from_strokes([[(9, 9), (99, 99)]]).image(); "
        "print('scipy' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=data.PROJECT, capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr
