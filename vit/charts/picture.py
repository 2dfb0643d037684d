"""What charts make and the interface shows: values that can be looked at in tests, none without an alternative text."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go

from vit.charts.colours import ColourScale, data_uri, photo_uri


@dataclass(frozen=True, eq=False)
class Picture:
    """Anything that can be looked at. `alt` says in words what it is, for those who cannot see it."""

    _: KW_ONLY
    alt: str

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("A picture needs an alternative text.")


@dataclass(frozen=True)
class Legend:
    """The colour scale of a picture, and what its two ends mean: numbers or words."""

    colours: ColourScale
    low: float | str
    high: float | str
    caption: str = ""


@dataclass(frozen=True, eq=False)
class PixelPicture(Picture):
    """RGB pixels, seen as rows x columns of cells that can be read by pointing and chosen by clicking."""

    pixels: np.ndarray
    rows: int = 1
    columns: int = 1
    _: KW_ONLY
    width: int = 420  # at most, on the screen
    labels: Sequence[str] = ()  # of each cell, shown while it is pointed at
    words: Mapping[int, str] = field(default_factory=dict)  # by cell, always shown
    chosen: Sequence[int] = ()  # cells with a frame
    dashed: Sequence[int] = ()  # cells with a broken frame
    span: int = 1  # cells that a frame takes in, side by side
    legend: Legend | None = None
    row_names: Sequence[str] = ()  # where one is empty, its row has no name
    column_names: Sequence[str] = ()
    corner: str = ""  # what the names of rows and columns count
    lines: bool = False  # between the cells
    photo: bool = False  # nobody counts its pixels

    @cached_property
    def source(self) -> str:
        """The pixels as a page shows them."""
        return photo_uri(self.pixels) if self.photo else data_uri(self.pixels)


@dataclass(frozen=True, eq=False)
class PlotlyPicture(Picture):
    """A chart. Where its points can be chosen, the first number of a point's customdata tells which it is."""

    figure: go.Figure


@dataclass(frozen=True, eq=False)
class LivePicture(Picture):
    """A chart that moves in place while a run trains: options for ECharts."""

    options: Mapping[str, Any]
    _: KW_ONLY
    height: int = 300


@dataclass(frozen=True)
class Curve:
    """One line of a chart, and how it is told from the others."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False
    dots: bool = False
    faded: bool = False
    bold: bool = False


@dataclass(frozen=True, eq=False)
class CurvesPicture(Picture):
    """Lines that grow under the pointer: what is read there stays on the screen while points arrive."""

    curves: Sequence[Curve]
    _: KW_ONLY
    axis: str  # what the points lie along
    decimals: int = 0  # of the place along it
    unit: str = ""
    precision: int = 3  # decimals of a value
    top: float | None = None  # of the scale; without it, what the largest value needs
    level: tuple[float, str] | None = None  # a broken line at this value, with its name


@dataclass(frozen=True, eq=False)
class TemplatePicture(Picture):
    """Numbers laid out by a template of the frontend: tables, bars, rows of small pictures."""

    template: str
    values: Mapping[str, Any]
