"""What a model's confidence is worth: in words, and as a curve."""

import plotly.graph_objects as go

from vit.calibration import Calibration
from vit.charts import colours
from vit.charts.picture import PlotlyPicture


def in_words(measured: Calibration, confidence: float, unsure_below: float, classes: int, own: str = "drawing"
             ) -> list[str]:
    """Why a model that reads so much says so little, in paragraphs."""
    told = [f"This model reads **{measured.accuracy:.2%}** of {measured.measured_on}, and gives your {own} "
            f"**{confidence:.1%}**. The first is how often it is right, the second how sure it says it is."]
    if measured.smoothing:
        target, other = 1 - measured.smoothing * (1 - 1 / classes), measured.smoothing / classes
        told.append("It was **taught to be modest**. With *label smoothing* of "
                    f"{measured.smoothing:.0%} the right class was never to get 100 %, but {target:.1%}, and each "
                    f"other {other:.1%}; later it learned from the opinions of networks that were taught so too. More "
                    "certainty than that would have cost it.")
    alike = measured.bin_of(confidence)
    if alike is None:
        told.append(f"None of these images left it as sure as your {own}, at {confidence:.0%}.")
    else:
        digits = 2 if alike.images >= 1_000 else 0  # "100% to 100%" would say that nothing is left to doubt
        low, high = (f"{share:.{digits}%}" for share in alike.interval)
        alike_sure = f"{alike.low:.0%} to {alike.high:.0%} sure"
        told.append(f"Of the {alike.images:,} images on which it was {alike_sure}, as here, it read "
                    f"**{alike.accuracy:.{max(digits, 1)}%}** right (95 % interval {low} to {high}).")
    told.append(f"Points above the line: right more often than it says. The pages call an answer *not sure* below "
                f"{unsure_below:.0%}.")
    return told


def curve(measured: Calibration, confidence: float, dark: bool, own: str = "drawing") -> PlotlyPicture:
    """How often the model is right when it is how sure, with the line of those that mean what they say."""
    alike, bins = measured.bin_of(confidence), measured.bins
    writing = {"size": 14, "color": colours.TEXT[dark]}
    low = bins[0].low
    honest = go.Scatter(x=[low, 1], y=[low, 1], mode="lines", hoverinfo="skip",
                        line={"color": colours.CALM, "width": 1, "dash": "dash"})
    points = go.Scatter(
        x=[(part.low + part.high) / 2 for part in bins], y=[part.accuracy for part in bins], mode="markers",
        marker={"size": 11, "color": [colours.ACCENT if part is alike else colours.PROBABLE for part in bins]},
        error_y={"type": "data", "symmetric": False, "color": colours.CALM, "thickness": 1.5, "width": 3,
                 "array": [part.interval[1] - part.accuracy for part in bins],
                 "arrayminus": [part.accuracy - part.interval[0] for part in bins]},
        hovertext=[f"{part.low:.0%} to {part.high:.0%} sure: {part.right:,} of {part.images:,} right "
                   f"({part.accuracy:.1%})" for part in bins],
        hoverinfo="text",
    )
    yours = {"type": "line", "x0": confidence, "x1": confidence, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"width": 2, "color": colours.ACCENT}}
    notes = [{"text": f"your {own}", "x": confidence, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False,
              "font": writing, "xanchor": "right" if confidence > 0.5 else "left"}]
    layout = colours.layout(
        340, shapes=[yours], annotations=notes, hoverlabel={"font": writing}, font=writing,
        xaxis={"title": {"text": "how sure it says it is"}, "tickformat": ".0%", "range": [max(low - 0.03, 0), 1.02]},
        yaxis={"title": {"text": "how often it is right"}, "tickformat": ".0%", "range": [0, 1.05]},
    )
    told = ", ".join(f"{part.low:.0%} to {part.high:.0%} sure: {part.accuracy:.0%} right" for part in bins)
    alt = f"how often the model is right when it is how sure: {told}"
    return PlotlyPicture(go.Figure([honest, points], layout), alt=alt)
