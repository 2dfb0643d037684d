"""One colour language for the whole app, for charts and for pixel pictures alike."""

import base64
import io
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

TEXT = {False: "#1d2129", True: "#eceff4"}  # by theme, as in .streamlit/config.toml: what must be read in a chart
ACCENT = "#00b4d8"  # the chosen token, everywhere
CALM = "#8a94a6"  # what is shown beside the chosen
GRID = "rgba(128,128,128,0.2)"  # lines behind a chart, in both themes
GONE = (74, 80, 92)  # what was taken away, in pixels
NO_FLIP, FLIP = "#2a78d6", "#e07b00"  # the twin that sees images as they are, and the one that sees some mirrored
ATTENTION, MLP = "#f0902a", "#2bb08a"  # what a block's two parts add
PROBABLE = "#e0701a"  # the most probable answer, in bars
ARMS = (NO_FLIP, FLIP, "#1b9e77", "#c2407e", "#7a5bd0", "#008fb3")  # what studies compare, in order
VERDICTS = {"holds": "#1a7f5a", "part": "#9a6700", "not": "#c8372d", "open": "#5f6b7a", "untried": CALM}
CSS = {"accent": ACCENT, "calm": CALM, "no-flip": NO_FLIP, "flip": FLIP, "attention": ATTENTION, "mlp": MLP,
       "probable": PROBABLE, **{f"verdict-{name}": colour for name, colour in VERDICTS.items()},
       }  # as style sheets know them: --patchwise-accent and so on

ColourScale = list[list]  # [place from 0 to 1, colour], in order

INK: ColourScale = [[0.0, "#0b0d12"], [1.0, "#ffffff"]]
WARM: ColourScale = [
    [0.0, "#12100f"], [0.15, "#43141b"], [0.35, "#8c2118"], [0.6, "#dd5a12"], [0.8, "#f7a823"], [1.0, "#fff3b8"]
]
SIGNED = {
    False: [[0.0, "#1a4f9c"], [0.25, "#6aa3dc"], [0.5, "#f7f7f7"], [0.75, "#ea8a6c"], [1.0, "#a51d2d"]],
    True: [[0.0, "#6db3ff"], [0.25, "#2a66b0"], [0.5, "#16181d"], [0.75, "#b5462f"], [1.0, "#ff9a76"]],
}


def signed(dark: bool) -> ColourScale:
    """Blue for negative, red for positive, with 0 in the colour of the page."""
    return SIGNED[dark]


def rgb(colour: str) -> tuple[int, int, int]:
    """#rrggbb as three numbers."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def paint(values: np.ndarray, scale: ColourScale, low: float, high: float) -> np.ndarray:
    """Values to RGB pixels (uint8) along a colour scale."""
    place = (np.asarray(values, np.float32) - low) * (255 / ((high - low) or 1))
    return _shades(tuple(map(tuple, scale)))[place.clip(0, 255).round().astype(np.uint8)]


@lru_cache
def _shades(scale: tuple[tuple[float, str], ...]) -> np.ndarray:
    """The scale in 256 steps: (256, 3)."""
    stops = [stop for stop, _ in scale]
    colours = np.array([rgb(colour) for _, colour in scale])
    places = np.linspace(0, 1, 256)
    return np.stack([np.interp(places, stops, colours[:, c]) for c in range(3)], -1).round().astype(np.uint8)


def data_uri(pixels: np.ndarray) -> str:
    """A PNG that a page can show without a request of its own; browsers scale it up as crisp squares."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def photo_uri(pixels: np.ndarray) -> str:
    """The same as a JPEG, a tenth of the size: for photos that are looked at and not read pixel by pixel."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def css_gradient(scale: ColourScale) -> str:
    return "linear-gradient(to right, " + ", ".join(f"{colour} {stop:.0%}" for stop, colour in scale) + ")"


def limit_of(values: np.ndarray) -> float:
    """The largest size of a signed array: the end of a scale that is centred at 0."""
    return float(np.abs(values).max(initial=0)) or 1.0


# The house's look of charts: no frame, little margin, text that can be read from the back of a classroom
LOOK = {
    "margin": {"l": 8, "r": 8, "t": 28, "b": 8}, "font": {"size": 15}, "showlegend": False,
    "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "dragmode": False, "bargap": 0.15,
}
AXIS = {"automargin": True, "fixedrange": True}


def layout(height: int, **own: Any) -> dict[str, Any]:
    """The house's look, with what a figure has of its own: go.Figure(data, layout(…)).

    Much quicker than to update a finished figure, of which Plotly checks everything again and again.
    """
    axes = {name: AXIS | own.get(name, {}) for name in {"xaxis", "yaxis", *own} if name[1:].startswith("axis")}
    return LOOK | {"height": height} | own | axes
