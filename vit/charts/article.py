"""The article's recipe in full: how both runs learned, and what each reads, digit by digit."""

import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.picture import PlotlyPicture
from vit.studies.article import BEST, Recipe, Recorded

HEIGHT = 340
NAMES = {"plain": "without flips", "flips": "with flips"}
LOOKS = {"plain": (colours.NO_FLIP, "circle"), "flips": (colours.FLIP, "diamond")}  # colour and marker


def both(recipe: Recipe) -> dict[str, Recorded]:
    return {"plain": recipe.plain, "flips": recipe.flips}


def by_epoch(recipe: Recipe) -> PlotlyPicture:
    """Accuracy after each epoch, on validation images and in training; dotted, what the article reports as its best."""
    traces: list[go.Scatter] = []
    shapes = []
    for name, run in both(recipe).items():
        colour, symbol = LOOKS[name]
        for kind, values, width in (
            ("validation", [epoch.validation_accuracy for epoch in run.epochs], 3),
            ("training", [epoch.training_accuracy for epoch in run.epochs], 1),
        ):
            traces.append(go.Scatter(
                x=[epoch.epoch for epoch in run.epochs], y=values, name=NAMES[name], showlegend=kind == "validation",
                mode="lines+markers" if kind == "validation" else "lines", marker={"symbol": symbol, "size": 6},
                line={"color": colour, "width": width},
                hovertemplate=f"{NAMES[name]}, {kind}<br>epoch %{{x}}: <b>%{{y:.2f}} %</b><extra></extra>",
            ))
        shapes.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": BEST[name], "y1": BEST[name],
                       "line": {"color": colour, "width": 1.5, "dash": "dot"}})
    look = colours.layout(
        HEIGHT, showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        shapes=shapes, xaxis={"title": {"text": "epoch"}, "gridcolor": colours.GRID},
        yaxis={"title": {"text": "accuracy, %"}, "gridcolor": colours.GRID},
    )
    reached = " and ".join(f"{max(epoch.validation_accuracy for epoch in run.epochs):.2f} % {NAMES[name]}"
                           for name, run in both(recipe).items())
    return PlotlyPicture(go.Figure(traces, look),
                         alt=f"accuracy after each epoch of the article's recipe: at best {reached}")


def by_digit(recipe: Recipe, mirrored: bool) -> PlotlyPicture:
    """What each of the two reads of the test digits, as they are or mirrored."""
    traces = []
    for name, run in both(recipe).items():
        colour, symbol = LOOKS[name]
        traces.append(go.Scatter(
            x=list("0123456789"), y=run.by_digit_mirrored if mirrored else run.by_digit, name=NAMES[name],
            mode="markers", marker={"color": colour, "symbol": symbol, "size": 13},
            hovertemplate=f"%{{x}}, {NAMES[name]}: <b>%{{y:.2f}} %</b><extra></extra>",
        ))
    look = colours.layout(
        HEIGHT, showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        xaxis={"title": {"text": "digit"}, "type": "category"},
        yaxis={"title": {"text": "read correctly, %"}, "gridcolor": colours.GRID, "zeroline": False},
    )
    return PlotlyPicture(go.Figure(traces, look),
                         alt=f"how many {'mirrored ' if mirrored else ''}test digits are read, of each kind")
