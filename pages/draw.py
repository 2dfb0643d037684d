"""Draw, pick or upload a digit; what the model sees of it; its answer."""

import streamlit as st

from vit import drawing
from vit.ui import canvas, digits, frame, models, parts
from vit.ui import view as views

view = views.current()
if view is None:
    frame.title("What does the model see?", "Draw a digit from 0 to 9, or pick one. The model reads along.")
else:
    frame.title("What does the model see?", digits.sentence(view))

row = st.container(horizontal=True, gap="medium")
with row.container(width=drawing.SIDE):
    canvas.show()
    with st.container(horizontal=True):
        st.button("Undo", icon=":material/undo:", on_click=canvas.undo, disabled=not digits.has_strokes())
        st.button("Clear", icon=":material/delete:", on_click=canvas.clear, disabled=not digits.has_drawing())
        if st.button("Photo", icon=":material/photo_camera:"):
            digits.paper()
with row.container(width=236):
    digits.steps(view)
with row.container(width="stretch"):
    digits.answer(view)
digits.samples()
if view is not None:
    digits.equation(view)
parts.try_this("draw the same digit small, in a corner, and then as large as the canvas. The pictures beside it tell "
               "why the answer hardly changes.")
frame.end("draw")
models.warm_up()
