"""The model reads along: the same picture and the same answer as when the pen is lifted, and nothing is kept."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from vit import drawing
from vit.drawing.strokes import under_the_pen
from vit.ui import live, models

SEVEN = [(90, 80), (240, 80), (160, 270)]
PEN = [(110, 170), (110, 170), (150, 171), (190, 172), (220, 170)]


def read_along():
    """A page that reads what session state holds, as the fragment of Draw does."""
    import streamlit as st

    from vit.ui import live, state

    state.restore("draw")
    st.session_state.result = live.reading()


def visitor(told, told_by_canvas=None, model="explorer"):
    page = AppTest.from_function(read_along, default_timeout=60)
    page.query_params["model"] = model
    page.session_state.sheet = {"told": told_by_canvas or drawing.to_fabric([])}
    page.session_state.live_stroke = told
    page.run()
    assert not page.exception
    return page


def test_the_stroke_under_way_is_read_with_those_before_it_as_it_will_be_when_it_ends():
    page = visitor(PEN, drawing.to_fabric([SEVEN]))
    reading, ink = page.session_state.result
    ended = drawing.from_strokes([SEVEN, under_the_pen(PEN)])
    trace = models.trace("explorer", ended)
    assert reading.drawing == ended
    assert np.array_equal(reading.image, trace.image)
    assert np.array_equal(ink.image, trace.image)
    assert reading.probabilities == pytest.approx(trace.probabilities, abs=1e-6)
    assert reading.prediction == trace.prediction


def test_nothing_of_a_live_reading_is_kept(monkeypatch):
    models.forget()
    monkeypatch.setattr(models, "ink_of", lambda drawing: pytest.fail("It would take another's place in the cache."))
    page = visitor(PEN)
    assert page.session_state.drawing is None
    assert "d" not in page.query_params
    assert "live_stroke" not in page.session_state
    assert len(models._traces) == 0


@pytest.mark.parametrize("told", [
    None, [], "pen", {"x": 1}, [[1, 2, 3]], [[1, "a"]], [[None, None], [float("nan"), 1]], [[10**400, 1]], [[5, 5]],
    [[1e308, 1e308], [-1e308, 5]], [[-50, -50], [-60, -60]],
])
def test_what_is_not_a_stroke_on_the_canvas_is_not_read(told):
    assert visitor(told).session_state.result is None


def test_a_stroke_of_absurd_length_is_read_as_far_as_it_may_go():
    assert len(live.points_of([[1, 2]] * 100_000)) == live.MOST_POINTS


def test_a_model_that_has_gone_while_the_pen_is_down_is_left_to_the_whole_page(monkeypatch):
    def gone(model_id):
        raise FileNotFoundError("It has gone.")

    monkeypatch.setattr(models, "load", gone)
    page = visitor(PEN)  # runs again, without the stroke
    assert page.session_state.result is None
