"""The model reads along while the pen is down: frontend/live.js tells the stroke so far. Nothing of it is kept, since
what is drawn is what the canvas tells when the pen is lifted."""

from typing import Any

import numpy as np
import streamlit as st

from vit import drawing as drawings
from vit.drawing.ink import Ink
from vit.ui import canvas, markup, models, state
from vit.ui.view import Reading

COMPANION = "live"
MOST_POINTS = 5_000  # more than a minute of drawing without lifting the pen


def listen() -> None:
    """Last in a fragment: the companion learns that its message was answered, and may send the next."""
    markup.component("live")(key=COMPANION, data=[st.session_state.get("live_number")], on_stroke_change=_heard,
                             height=1)


def _heard() -> None:
    told = getattr(st.session_state.get(COMPANION), "stroke", None)
    if isinstance(told, dict):
        st.session_state.live_number = told.get("number")
        st.session_state.live_stroke = told.get("points")


def forget() -> None:
    """A whole run shows what is drawn, also if a message came while it waited."""
    st.session_state.pop("live_stroke", None)


def reading() -> tuple[Reading, Ink] | None:
    """What the model makes of the sheet with the stroke under way; None if there is none."""
    points = points_of(st.session_state.pop("live_stroke", None))
    drawing = drawings.from_strokes([*canvas.strokes(), drawings.under_the_pen(points)]) if points else None
    found = drawing.ink() if drawing else None
    if drawing is None or found is None:
        return None
    model_id = state.get().model
    try:
        model, details = models.load(model_id)
        image = drawings.for_model(found.image, model.config)
        return Reading(drawing, image, models.answer(model_id, image), model.config, details), found
    except (ValueError, FileNotFoundError):
        st.rerun()  # the model has gone: the whole page says so


def points_of(told: Any) -> list[tuple[float, float]]:
    """Pairs of numbers, whatever a browser may have sent."""
    try:
        points = np.array(told, float).reshape(-1, 2)[:MOST_POINTS]
    except (TypeError, ValueError, OverflowError):
        return []
    return [(x, y) for x, y in points[np.isfinite(points).all(1)].tolist()]
