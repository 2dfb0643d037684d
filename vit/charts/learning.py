"""How a model's accuracy grew."""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.picture import PlotlyPicture
from vit.details import Epoch

Epochs = Sequence[Epoch]


class Curve(NamedTuple):
    name: str
    key: str
    colour: str
    dash: str


CURVES = (Curve("validation", "validation_accuracy", colours.ACCENT, "solid"),
          Curve("training", "train_accuracy", colours.CALM, "dot"))


def accuracy_by_epoch(epochs: Epochs) -> PlotlyPicture:
    curves = [
        go.Scatter(
            x=[line.epoch for line in epochs], y=[100 * getattr(line, key) for line in epochs], name=name,
            mode="lines+markers", line={"color": colour, "width": 3, "dash": dash},
            hovertemplate="epoch %{x}: %{y:.2f} %<extra>" + name + "</extra>",
        )
        for name, key, colour, dash in CURVES
    ]
    look = colours.layout(
        320, showlegend=True, legend={"orientation": "h", "y": 1.12},
        xaxis={"title": {"text": "epoch"}, "range": [0, len(epochs) + 1], "dtick": max(len(epochs) // 10, 1)},
        yaxis={"title": {"text": "% read correctly"}, "range": shown(epochs)},
    )
    return PlotlyPicture(go.Figure(curves, look), alt="accuracy on training and validation images after each epoch")


def shown(epochs: Epochs) -> tuple[int, int]:
    """From where to where the axis goes, in percent. The first epoch, often far below, would flatten all others."""
    values = [100 * getattr(line, curve.key) for line in epochs for curve in CURVES]
    settled = values[len(CURVES):] or values
    high = ceil(max(values) / 10) * 10
    return max(min(floor(min(settled) / 10) * 10, high - 10), 0), max(high, 10)


def left_out(epochs: Epochs) -> str:
    """What lies below the axis, in a sentence; nothing where all is shown."""
    low, _ = shown(epochs)
    first = epochs[0]
    below = [f"{getattr(first, curve.key):.1%} of the {curve.name} images" for curve in CURVES
             if 100 * getattr(first, curve.key) < low]
    return f"Lower than the chart goes: after epoch {first.epoch} it read {' and '.join(below)}." if below else ""
