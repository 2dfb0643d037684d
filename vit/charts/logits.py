"""Pictures of the answer: how it grows from block to block, how it is read from CLS, and who is for it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from vit.charts import colours, vectors
from vit.charts.classes import likeliest, with_others
from vit.charts.mosaic import outline
from vit.charts.picture import Legend, PixelPicture, PlotlyPicture, TemplatePicture
from vit.explain import Contributions, LogitLens, Step, steps
from vit.numbers import Size, fixed, latex_size, plain, with_sign

LENS_CELL = 30, 48  # pixels: height, width
MOST_WORDS = 12  # classes beside each other that leave room for their probabilities as words
MOST_LETTERS = 6  # of a name above a column
BAR, ABOVE = 24, 32  # pixels: a bar of the waterfall with its gap, and what stands above all
ROOM = 0.2  # of the waterfall's width, at both ends, for the numbers beside the bars


def lens(values: LogitLens, label: int, names: Sequence[str]) -> PixelPicture:
    """The answer after the embedding and after each block: a row per depth, a column per class that there is room for
    (lens_classes)."""
    shown = lens_classes(values, label)
    probabilities = values.probabilities[:, shown]
    depths, classes = probabilities.shape
    place = shown.index(label)
    tall, wide = LENS_CELL
    pixels = colours.paint(probabilities, colours.WARM, 0, 1).repeat(tall, 0).repeat(wide, 1)
    outline(pixels, 0, place * wide, depths * tall, (place + 1) * wide, thickness=3)
    labels = [
        f"{depth_name(depth)}, {named(of, names)}\nprobability {probability:.2%}\nlogit {plain(logit)}"
        for depth, (row, row_logits) in enumerate(zip(probabilities, values.logits[:, shown], strict=True))
        for of, probability, logit in zip(shown, row, row_logits, strict=True)
    ]
    words = {i: f"{p:.0%}" for i, p in enumerate(probabilities.ravel()) if p >= 0.005 and classes <= MOST_WORDS}
    return PixelPicture(
        pixels, depths, classes, alt="the answer after each block", width=620, labels=labels, words=words, lines=True,
        row_names=["z₀", *map(str, range(1, depths))], corner="block",
        column_names=[in_a_column(names[of]) for of in shown],
        legend=Legend(colours.WARM, 0, 1, "probability; each row sums to 1" if classes == values.logits.shape[1] else
                      f"probability; {classes} of {values.logits.shape[1]:,} classes"),
    )


def named(label: int, names: Sequence[str]) -> str:
    return names[label] if names[label] != str(label) else f"class {label}"


def in_a_column(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[:MOST_LETTERS - 1]}…"


def lens_classes(values: LogitLens, label: int) -> list[int]:
    return likeliest(values.probabilities[-1], label)


def depth_name(depth: int) -> str:
    return f"after block {depth}" if depth else "after the embedding"


def settling(settled: int, depth: int, winner: str) -> str:
    if settled == depth:
        return f"Only the last block brings it to {winner}."
    return f"Stopped {depth_name(settled)} or later, the model would say {winner} as well."


def reading(cls_out: np.ndarray, weights: np.ndarray, name: str, dark: bool) -> PixelPicture:
    """CLS, a class's weights and their products as three rows of stripes, each on its own scale around 0."""
    return vectors.product(cls_out, weights, ["y", "w", "y·w"], dark, alt=f"CLS times the weights of class {name}")


class ClassRow(NamedTuple):
    """A class on its way from logit to probability; start and length are shares of the bar's place."""

    name: str
    logit: str
    start: float
    length: float
    against: bool  # a logit below 0
    term: Size
    share: float
    text: str
    chosen: bool
    best: bool


def softmax_table(logits: np.ndarray, probabilities: np.ndarray, label: int, names: Sequence[str], dark: bool
                  ) -> TemplatePicture:
    """From logits to probabilities: every exp term, and their sum."""
    terms, limit, best = exponentials(logits), colours.limit_of(logits), int(probabilities.argmax())
    rows = []
    for of, numbers in with_others(len(logits), likeliest(probabilities, label)).items():
        logit = float(logits[of]) if isinstance(of, int) else None  # many together have none
        length = 0 if logit is None else logit / limit / 2
        share = float(probabilities[numbers].sum())
        rows.append(ClassRow(
            names[of] if isinstance(of, int) else of, "" if logit is None else plain(logit),
            round(0.5 + min(length, 0), 4), round(abs(length), 4),
            length < 0, Size.of(terms[numbers].sum()), round(share, 4), f"{share:.1%}", of == label, of == best,
        ))
    blue, red = poles(dark)
    return TemplatePicture(
        "softmax_table", {"rows": rows, "sum": Size.of(terms.sum()), "blue": blue, "red": red},
        alt="logit, exponential and probability of each class",
    )


def poles(dark: bool) -> tuple[str, str]:
    """The colours of against and for: the scale of signed values, where it is neither pale nor dark."""
    scale = colours.signed(dark)
    return (scale[0][1], scale[-1][1]) if dark else (scale[1][1], scale[-2][1])


def exponentials(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits.astype(float))


def written_sum(logits: np.ndarray, label: int) -> TemplatePicture:
    """All exp terms and their sum, as one line that can wrap."""
    terms = exponentials(logits)
    shown = with_others(len(logits), likeliest(logits, label))
    values = {
        "terms": [(Size.of(terms[of].sum()), number == label, "" if isinstance(number, int) else number)
                  for number, of in shown.items()],
        "sum": Size.of(terms.sum()),
    }
    return TemplatePicture("written_sum", values, alt="the sum of all terms")


def softmax_line(logits: np.ndarray, probabilities: np.ndarray, label: int) -> str:
    """One class's share of the sum, in KaTeX."""
    terms = exponentials(logits)
    share = probabilities[label]
    shown = f"{share:.4f}" if share >= 1e-4 else latex_size(share)
    return (rf"\frac{{\rule{{0pt}}{{1.2em}}e^{{{fixed(logits[label], 2)}}}}}{{{latex_size(terms.sum())}}} = "
            rf"\frac{{{latex_size(terms[label])}}}{{{latex_size(terms.sum())}}} = {shown}")


def waterfall(shares: Contributions, winner: str, rival: str, dark: bool) -> PlotlyPicture:
    """From 0 to the lead of one class over another: each bar starts where the last ended, and the last is all."""
    taken, (blue, red) = steps(shares), poles(dark)
    places = list(range(len(taken) + 1))
    sums = [0.0, *(step.after for step in taken)]
    room = ROOM * ((max(sums) - min(sums)) or 1)
    writing = {"size": 14, "color": colours.TEXT[dark]}
    bands = [  # every other block, both of its parts
        {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": place - 0.5, "y1": place + 1.5, "layer": "below",
         "fillcolor": colours.CALM, "opacity": 0.12, "line": {"width": 0}}
        for place in range(1, places[-2], 4)
    ]
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": places[-1] - 0.5, "y1": places[-1] - 0.5,
            "line": {"width": 1, "color": colours.CALM}}
    names = {"tickvals": places, "tickfont": writing, "showgrid": False, "zeroline": False,
             "range": [places[-1] + 0.6, -0.6]}
    bars = go.Waterfall(
        x=[*(step.value for step in taken), shares.total], y=places, orientation="h",
        measure=[*("relative" for _ in taken), "total"],
        text=[*(with_sign(step.value) for step in taken), f"<b>{with_sign(shares.total)}</b>"],
        textposition="outside", cliponaxis=False, constraintext="none", textfont=writing,
        increasing={"marker": {"color": red}}, decreasing={"marker": {"color": blue}},
        totals={"marker": {"color": colours.ACCENT}},
        connector={"mode": "between", "line": {"width": 1, "color": colours.CALM, "dash": "solid"}},
        hovertext=[*map(told, taken), f"all together: {with_sign(shares.total, 4)}<br>"
                   f"attention {with_sign(shares.attention.sum(), 4)}<br>MLP {with_sign(shares.mlp.sum(), 4)}"],
        hoverinfo="text",
    )
    axis_at_the_right = go.Scatter(x=[None], y=[None], yaxis="y2")  # nothing, but without it there is no such axis
    layout = colours.layout(
        BAR * len(places) + ABOVE, bargap=0.25, margin={"l": 8, "r": 8, "t": ABOVE, "b": 0},
        shapes=[*bands, line], hoverlabel={"font": writing},
        xaxis={"range": [min(sums) - room, max(sums) + room], "zeroline": True, "zerolinecolor": colours.CALM,
               "showgrid": False, "showticklabels": False},
        yaxis={"ticktext": [*map(name_of, taken), "<b>all</b>"], **names},
        yaxis2={"ticktext": [*(plain(step.after) for step in taken), ""], "overlaying": "y", "side": "right", **names},
        annotations=[{"text": "so far", "font": writing, "showarrow": False, "x": 1, "xref": "paper",
                      "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}],
    )
    return PlotlyPicture(
        go.Figure([bars, axis_at_the_right], layout),
        alt=f"what each part of the model adds to the lead of {winner} over {rival}: "
            + ", ".join(f"{name_of(step)} {with_sign(step.value)}" for step in taken)
            + f"; all together {with_sign(shares.total)}",
    )


def name_of(step: Step) -> str:
    return step.part if step.block is None else f"{step.block + 1} {step.part}"


def told(step: Step) -> str:
    where = "" if step.block is None else f"block {step.block + 1} · "
    return f"{where}{step.part}: {with_sign(step.value, 4)}<br>so far {with_sign(step.after, 4)}"
