"""How a model's accuracy grew."""

from collections.abc import Sequence

import plotly.graph_objects as go

from vit.charts import colours

SHOWN_FROM = 90  # percent; what lies below is the first epochs' and would flatten the rest


def accuracy_by_epoch(epochs: Sequence[dict]) -> go.Figure:
    figure = go.Figure()
    for name, key, colour, dash in (
        ("validation", "validation_accuracy", colours.ACCENT, "solid"),
        ("training", "train_accuracy", colours.CALM, "dot"),
    ):
        figure.add_scatter(
            x=[line["epoch"] for line in epochs], y=[100 * line[key] for line in epochs], name=name,
            mode="lines+markers", line={"color": colour, "width": 3, "dash": dash},
            hovertemplate="epoch %{x}: %{y:.2f} %<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title="epoch", dtick=2)
    figure.update_yaxes(title="% read correctly", range=[SHOWN_FROM, 100])
    return colours.styled(figure, 320, showlegend=True, legend={"orientation": "h", "y": 1.12})
