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
