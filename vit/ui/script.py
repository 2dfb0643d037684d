"""What Streamlit runs for each visitor, from top to bottom: the frame around all pages, then the page itself."""

import streamlit as st

from vit.ui import canvas, frame, state

st.set_page_config(page_title="Patchwise", page_icon="🧩", layout="wide")
pages = frame.pages()
page = st.navigation(list(pages.values()), position="top")
here = next(name for name, candidate in pages.items() if candidate == page)

st.session_state.page = here
state.restore(here)
canvas.take_in()
state.settle()
frame.sidebar(here)
if here != "draw":
    canvas.left()
state.write_url()
frame.top_line(here)
page.run()
