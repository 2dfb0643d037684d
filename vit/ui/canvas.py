"""The canvas, and the remedies it needs: its toolbar may not swallow strokes, a finger may not scroll the page,
and the answer should not wait for the 200 ms that the canvas takes to see whether more is coming."""

import numpy as np
import streamlit as st

from vit import drawing as drawings
from vit import ink
from vit.charts import colours
from vit.ui import state

GHOST = 61  # a plain 8 of the test set

COMPANION_JS = """
export default function ({ parentElement }) {
  const mend = () => {  // a new canvas comes unheard: it is made inside a shadow root
    for (const element of document.querySelectorAll(".st-key-canvas *")) {
      const shadow = element.shadowRoot;
      if (!shadow?.querySelector(".canvas-root") || shadow.querySelector("style[data-patchwise]")) continue;
      const sheet = document.createElement("style");
      sheet.dataset.patchwise = "";
      sheet.textContent = `.dc-toolbar { display: none !important; } .dc-scroll { overflow: hidden !important; }
        .dc-canvas { border-radius: 8px; } canvas { touch-action: none !important; }`;
      shadow.append(sheet);
    }
  };
  mend();
  const mending = setInterval(mend, 50);
  let drawnOn = null;
  const hold = (event) => {  // a pen lifted over a disabled button, or outside the window, would not be heard of
    const [touched] = event.composedPath();
    if (touched.matches?.("canvas.upper-canvas")) touched.setPointerCapture(event.pointerId);
  };
  const penDown = (event) => { drawnOn = event.composedPath().find((node) => node.querySelector?.(".canvas-root")); };
  const penUp = () => {
    const send = drawnOn?.querySelector(".dc-toolbar button");  // its first: "Update the app with this drawing"
    drawnOn = null;
    if (send) setTimeout(() => send.click());  // once the canvas has taken the stroke in
  };
  const heard = { pointerdown: hold, mousedown: penDown, touchstart: penDown, mouseup: penUp, touchend: penUp };
  for (const [name, listener] of Object.entries(heard)) document.addEventListener(name, listener);
  return () => {
    clearInterval(mending);
    for (const [name, listener] of Object.entries(heard)) document.removeEventListener(name, listener);
  };
}
"""


def show() -> None:
    """A square to draw in; what is drawn becomes the visitor's drawing when the pen is lifted."""
    from streamlit_drawable_canvas import st_canvas  # cannot be imported outside a running app

    sheet = _sheet()
    key = f"canvas_{sheet['number']}"

    def drawn():
        strokes = ink.strokes_of(st.session_state[key]["drawing"]["raw"])
        drawing = drawings.from_strokes(strokes)
        sheet["shown"] = drawing
        if drawing and state.get().drawing and not state.get().drawing.strokes:
            st.session_state.drawn_over = state.get().drawing  # the first stroke takes its place
        state.draw(drawing)

    # Not the canvas's own background: it would report that image's size in a run of its own, and a click on a link
    # that is under way just then would be lost.
    st.html(f"<style>.st-key-canvas {{ background: url({_backdrop()}) 0 0 / 100%; image-rendering: pixelated; "
            f"border-radius: 8px; touch-action: none; min-height: {drawings.SIDE}px }}</style>")
    with st.container(key="canvas", width=drawings.SIDE, gap=None):
        st_canvas(
            stroke_width=drawings.BRUSH, stroke_color="#ffffff", width=drawings.SIDE, height=drawings.SIDE,
            initial_drawing=sheet["initial"], key=key, on_change=drawn,
        )
    st.components.v2.component("patchwise_canvas_companion", html="<div></div>", js=COMPANION_JS)(
        key="canvas_companion", height=1
    )


def _backdrop() -> str:
    """Near-black paper: with a ghost of a digit that invites, or with the picked digit itself."""
    drawing = state.get().drawing
    if drawing is None:
        return _paper(f"s{GHOST}", 0.16)
    return _paper("" if drawing.strokes else drawing.code, 1)


@st.cache_data(max_entries=64, show_spinner=False)
def _paper(code: str, strength: float) -> str:
    image = drawings.Drawing(code).image() * strength if code else np.zeros((28, 28))
    return colours.data_uri(colours.paint(image, colours.INK, 0, 255))


def _sheet() -> dict:
    """The sheet on the canvas: a new one when the drawing was changed from elsewhere, or after a visit elsewhere."""
    drawing = state.get().drawing
    sheet = st.session_state.get("sheet")
    if sheet is None or sheet["shown"] != drawing or not sheet["mounted"]:
        strokes = drawing.strokes if drawing else ()
        sheet = {
            "number": sheet["number"] + 1 if sheet else 0, "initial": drawings.to_fabric(strokes),
            "shown": drawing, "mounted": True,
        }
        st.session_state.sheet = sheet
    return sheet


def left() -> None:
    """Another page is shown: the browser has thrown the canvas away."""
    if "sheet" in st.session_state:
        st.session_state.sheet["mounted"] = False


def undo() -> None:
    """Without the last stroke; without the first, what it was drawn over is there again."""
    drawing = state.get().drawing
    if drawing:
        state.draw(drawing.without_last_stroke() or st.session_state.pop("drawn_over", None))


def clear() -> None:
    st.session_state.pop("drawn_over", None)
    state.draw(None)
