"""Patchwise: `streamlit run app.py`. What a visitor sees is made by vit/ui/script.py."""

import runpy

import streamlit as st

from vit.ui import remedies, server

remedies.apply()
app = st.App(server.SCRIPT, middleware=server.middleware())

if __name__ == "__main__":  # run as a plain script, as Streamlit's AppTest does
    runpy.run_path(str(server.SCRIPT))
