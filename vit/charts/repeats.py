"""Pictures of one comparison with several seeds: every run as a dot, joined to its twin, and the mean difference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.colours import ARMS, CALM, data_uri
from vit.charts.picture import Curve, CurvesPicture, PlotlyPicture, TemplatePicture
from vit.numbers import plain, with_sign
from vit.studies.repeats import Curve as Points
from vit.studies.repeats import Mirrors, Repeats

SYMBOLS = ("circle", "diamond")
SOFT = "rgba(128,128,128,0.45)"


def dots(repeats: Repeats) -> PlotlyPicture:
    """Above, what each run reads, joined in pairs; below, by how much the first is ahead, with its 95 % interval."""
    traces = [_joined(repeats), *(_runs(repeats, side) for side in (0, 1)), *_differences(repeats)]
    names = [f"{name} " for name in repeats.names]
    look = colours.layout(
        320, hovermode="closest", shapes=[{
            "type": "line", "xref": "x2", "yref": "y2 domain", "x0": 0, "x1": 0, "y0": 0, "y1": 1,
            "line": {"color": CALM, "width": 2}, "layer": "below"}],
        xaxis={"anchor": "y", "title": {"text": "% read correctly"}, "zeroline": False, "nticks": 6},
        yaxis={"domain": [0.55, 1], "tickvals": [0, -1], "ticktext": names, "range": [-1.5, 0.5], "showgrid": False,
               "zeroline": False},
        xaxis2={"anchor": "y2", "title": {"text": "points of difference"}, "zeroline": False, "nticks": 6,
                "range": _around_zero(repeats)},
        yaxis2={"domain": [0, 0.25], "anchor": "x2", "tickvals": [0], "ticktext": ["first − second "],
                "range": [-1, 1], "showgrid": False, "zeroline": False},
    )
    return PlotlyPicture(go.Figure(traces, look), alt=f"every run as a dot, joined to its twin. {repeats.in_words()}")


def _joined(repeats: Repeats) -> go.Scatter:
    x: list[float | None] = []
    for seed in repeats.differences:
        x += [repeats.first[seed], repeats.second[seed], None]
    return go.Scatter(x=x, y=[0, -1, None] * len(repeats.differences), mode="lines", hoverinfo="skip",
                      line={"color": SOFT, "width": 1})


def _runs(repeats: Repeats, side: int) -> go.Scatter:
    values = (repeats.first, repeats.second)[side]
    return go.Scatter(
        x=list(values.values()), y=[-side] * len(values), mode="markers", customdata=list(values),
        hovertemplate="seed %{customdata}: <b>%{x:.2f} %</b><extra></extra>",
        marker={"color": ARMS[side], "size": 11, "symbol": SYMBOLS[side], "opacity": 0.8},
    )


def _differences(repeats: Repeats) -> list[go.Scatter]:
    differences, found = repeats.differences, repeats.found
    axes: dict[str, Any] = {"xaxis": "x2", "yaxis": "y2"}
    made = [go.Scatter(
        x=list(differences.values()), y=[0] * len(differences), mode="markers", customdata=list(differences),
        text=[with_sign(value) for value in differences.values()],
        hovertemplate="seed %{customdata}: <b>%{text} points</b><extra></extra>",
        marker={"color": ARMS[found.mean < 0], "size": 9, "symbol": "circle-open", "line": {"width": 2}}, **axes,
    )]
    if found.certain:
        low, high = found.low, found.high
        sure = f"mean {with_sign(found.mean)}, 95 % sure: {with_sign(low)} to {with_sign(high)}"
        made.insert(0, go.Scatter(x=[low, high], y=[0, 0], mode="lines", hoverinfo="skip", opacity=0.35,
                                  line={"color": ARMS[found.mean < 0], "width": 16}, **axes))
        made.append(go.Scatter(x=[found.mean], y=[0], mode="markers", hovertemplate=f"{sure}<extra></extra>",
                               marker={"symbol": "line-ns", "size": 26,
                                       "line": {"color": ARMS[found.mean < 0], "width": 4}}, **axes))
    return made


def _around_zero(repeats: Repeats) -> list[float]:
    found = repeats.found
    ends = [0.0, *repeats.differences.values(), *((found.low, found.high) if found.certain else ())]
    room = 0.1 * (max(ends) - min(ends)) or 1.0
    return [min(ends) - room, max(ends) + room]


def mean_curves(names: Sequence[str], found: Sequence[Points], seeds: int, classes: int = 10) -> CurvesPicture:
    guess = 100 / classes
    return CurvesPicture(
        [Curve(name, [(x, round(y, 2)) for x, y in points], ARMS[side], dashed=side == 1, dots=True)
         for side, (name, points) in enumerate(zip(names, found, strict=True))],
        alt=f"accuracy on validation images over steps, the mean of {seeds} seeds, of runs {' and '.join(names)}",
        axis="steps", unit=" %", precision=1, top=100, level=(guess, f"guessing {guess:.0f} %"),
    )


def mirrors(found: Mirrors, images: np.ndarray, classes: Sequence[str]) -> TemplatePicture:
    """A picture of each class beside its mirror image, with how well the latter is read, and what flips cost."""
    return TemplatePicture("mirrors", {"plain": ARMS[0], "flips": ARMS[1], "rows": [
        {"name": name, "same": number in found.same, "source": data_uri(images[number]),
         "mirrored": data_uri(np.ascontiguousarray(images[number][:, ::-1])),
         "read": plain(found.plain_mirrored[number], 0), "share": round(found.plain_mirrored[number] / 100, 3),
         "taught": plain(found.flips_mirrored[number], 0),
         "taught_share": round(found.flips_mirrored[number] / 100, 3),
         "change": with_sign(-found.lost[number], 1)}
        for number, name in enumerate(classes)
    ]}, alt="each class beside its mirror image, how many mirror images are read, and what flips change")
