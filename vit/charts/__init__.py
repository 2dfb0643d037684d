"""Trace and model to pictures: Plotly figures and pixel mosaics, one file per page."""
