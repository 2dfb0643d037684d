"""Patchwise: `streamlit run app.py`."""

import streamlit as st

from vit.ui import canvas, frame, state

st.set_page_config(page_title="Patchwise", page_icon="🧩", layout="wide")
pages = frame.pages()
page = st.navigation(list(pages.values()), position="top")
here = next(name for name, candidate in pages.items() if candidate == page)

st.session_state.page = here
state.restore()
if asked := st.session_state.pop("asked_page", None):
    frame.go_to(asked)
state.settle()
frame.sidebar(here)
if here != "draw":
    canvas.left()
state.write_url()
frame.top_line(here)
page.run()
