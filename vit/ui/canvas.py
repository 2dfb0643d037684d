"""The canvas. What it does not do well by itself is mended in frontend/canvas.js."""

from functools import lru_cache

import numpy as np
import streamlit as st

from vit import drawing as drawings
from vit.charts import colours
from vit.ui import markup, state

GHOST = 61  # a plain 8 of the test set


def show() -> None:
    """A square to draw in; what is drawn becomes the visitor's drawing when the pen is lifted."""
    from streamlit_drawable_canvas import st_canvas  # cannot be imported outside a running app

    sheet = _sheet()
    st.html(markup.render("canvas_paper", paper=_backdrop(), side=drawings.SIDE))
    with st.container(key="canvas", width=drawings.SIDE, gap=None):
        st_canvas(
            stroke_width=drawings.BRUSH, stroke_color="#ffffff", width=drawings.SIDE, height=drawings.SIDE,
            initial_drawing=sheet["initial"], key=_key(sheet), on_change=take_in,
        )
    remedies = {"css": markup.text("canvas_inside.css"), "sheet": sheet["number"]}  # a new sheet needs them anew
    markup.component("canvas")(key="canvas_companion", data=[remedies], height=1)  # in a list, as in show.py


def take_in() -> None:
    """What the canvas has told becomes the visitor's drawing. The next run may cut this off at any line, and does it
    again then."""
    sheet = st.session_state.get("sheet")
    if sheet is None or not sheet["mounted"]:
        return
    canvas = st.session_state.get(_key(sheet))
    told = canvas and canvas["drawing"] and canvas["drawing"]["raw"]
    if not told or told["objects"] == sheet["told"]["objects"]:
        return
    drawing = drawings.from_strokes(drawings.from_fabric(told))
    before = state.drawing()
    if drawing and before and not before.strokes:
        st.session_state.drawn_over = before  # the first stroke takes its place
    state.draw(drawing)
    sheet["shown"], sheet["told"] = drawing, told  # last: only now it is done


def _key(sheet: dict) -> str:
    return f"canvas_{sheet['number']}"


def _backdrop() -> str:
    """Near-black paper: with a ghost of a digit that invites, or with the picked digit itself."""
    drawing = state.drawing()
    if drawing is None:
        return _paper(f"s{GHOST}", 0.16)
    return _paper("" if drawing.strokes else drawing.code, 1)


@lru_cache(64)
def _paper(code: str, strength: float) -> str:
    image = drawings.Drawing(code).image() if code else None
    if image is None:
        image = np.zeros((1, 1))
    ink_on_it = (image.mean(-1) if image.ndim == 3 else image) * strength  # a link may show a photo to this model
    return colours.data_uri(colours.paint(ink_on_it, colours.INK, 0, 255))


def _sheet() -> dict:
    """The sheet on the canvas: a new one when the drawing was changed from elsewhere, or after a visit elsewhere."""
    drawing = state.drawing()
    sheet = st.session_state.get("sheet")
    if sheet is None or sheet["shown"] != drawing or not sheet["mounted"]:
        initial = drawings.to_fabric(drawing.strokes if drawing else ())
        sheet = {
            "number": sheet["number"] + 1 if sheet else 0, "initial": initial, "told": initial,
            "shown": drawing, "mounted": True,
        }
        st.session_state.sheet = sheet
    return sheet


def strokes() -> list[list[tuple[float, float]]]:
    """All that is on the sheet, but for a stroke under way."""
    return drawings.from_fabric(st.session_state.sheet["told"])


def left() -> None:
    """Another page is shown: the browser has thrown the canvas away."""
    if "sheet" in st.session_state:
        st.session_state.sheet["mounted"] = False


def undo() -> None:
    """Without the last stroke; without the first, what it was drawn over is there again."""
    drawing = state.drawing()
    if drawing:
        state.draw(drawing.without_last_stroke() or st.session_state.pop("drawn_over", None))


def clear() -> None:
    st.session_state.pop("drawn_over", None)
    state.draw(None)
