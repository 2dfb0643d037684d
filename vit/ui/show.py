"""One function that shows any picture and tells which cell of it was clicked."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import streamlit as st

from vit.charts import colours
from vit.charts.picture import (
    CurvesPicture,
    Legend,
    LivePicture,
    Picture,
    PixelPicture,
    PlotlyPicture,
    TemplatePicture,
)
from vit.numbers import number
from vit.ui import markup

Choose = Callable[[int], None]


def show(picture: Picture, key: str = "", on_choose: Choose | None = None) -> None:
    """Only templates that nobody clicks need no key."""
    match picture:
        case PixelPicture():
            _pixels(picture, key, on_choose)
        case PlotlyPicture():
            _chart(picture, key, on_choose)
        case LivePicture():
            st.echarts_chart(dict(picture.options), key=key, height=picture.height, alt=picture.alt)
        case CurvesPicture():
            markup.component("curves")(key=key, data=[asdict(picture)])
        case TemplatePicture() if on_choose:
            _choices(picture, key, on_choose)
        case TemplatePicture():
            st.html(markup.render(picture.template, alt=picture.alt, **picture.values))
        case _:
            raise TypeError(f"There is no way to show a {type(picture).__name__}.")


def _pixels(picture: PixelPicture, key: str, on_choose: Choose | None) -> None:
    def clicked() -> None:
        cell = st.session_state[key].cell
        if cell is not None and on_choose:
            on_choose(int(cell))

    # In a list: in a dictionary Streamlit would ask of each value whether it is a data frame.
    markup.component("picture")(key=key, data=[as_data(picture, on_choose is not None)], on_cell_change=clicked)


def as_data(picture: PixelPicture, clickable: bool) -> dict:
    """What picture.js draws."""
    return {
        "source": picture.source, "smooth": picture.photo, "aspect": picture.pixels.shape[1] / picture.pixels.shape[0],
        "rows": picture.rows, "columns": picture.columns, "width": picture.width, "alt": picture.alt,
        "chosen": list(map(int, picture.chosen)), "dashed": list(map(int, picture.dashed)), "span": picture.span,
        "lines": picture.lines,
        "labels": list(picture.labels), "words": dict(picture.words),
        "bright": bright_cells(picture) if picture.words else [], "clickable": clickable,
        "rowNames": list(map(str, picture.row_names)), "columnNames": list(map(str, picture.column_names)),
        "corner": picture.corner, "scale": picture.legend and _legend(picture.legend),
    }


def _legend(legend: Legend) -> dict[str, str]:
    low, high = (end if isinstance(end, str) else number(end) for end in (legend.low, legend.high))
    return {"gradient": colours.css_gradient(legend.colours), "low": low, "high": high, "caption": legend.caption}


def bright_cells(picture: PixelPicture) -> list[int]:
    """The cells on which dark words are easier to read than white ones, judged by the middle of each."""
    height, width, _ = picture.pixels.shape
    y = ((np.arange(picture.rows) + 0.5) * height / picture.rows).astype(int)
    x = ((np.arange(picture.columns) + 0.5) * width / picture.columns).astype(int)
    light = picture.pixels[np.ix_(y, x)] @ [0.3, 0.59, 0.11]
    return np.flatnonzero(light > 140).tolist()


def _choices(picture: TemplatePicture, key: str, on_choose: Choose) -> None:
    def chosen() -> None:
        choice = st.session_state[key].choice
        if choice is not None:
            on_choose(int(choice))

    html = markup.render(picture.template, alt=picture.alt, **picture.values)
    markup.component("choices", styled_by_page=True)(key=key, data=[html], on_choice_change=chosen)


def _chart(picture: PlotlyPicture, key: str, on_choose: Choose | None) -> None:
    def selected() -> None:
        points = st.session_state[key].selection.points
        if points and on_choose:
            on_choose(int(points[0]["customdata"][0]))

    st.plotly_chart(
        picture.figure, key=key, alt=picture.alt, config={"displayModeBar": False}, selection_mode="points",
        on_select=selected if on_choose else "ignore",
    )
