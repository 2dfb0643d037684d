"""How the runs of a study learned, and what was read off their weights: every run thin, the mean of an arm strong."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.claims import DASHES, SYMBOLS
from vit.charts.picture import PlotlyPicture
from vit.numbers import number
from vit.studies.results import Row, RunResult
from vit.studies.statistics import estimate
from vit.studies.study import Study

HEIGHT = 320
WHICH = {"loss": 1, "accuracy": 2}  # place in a row of a curve
OF_MANY_SIZES = ("gradients by block",)  # whose axis is logarithmic

Point = tuple[float, float]


def curves(study: Study, setting: str, runs: Sequence[RunResult], quantity: str) -> PlotlyPicture:
    """Loss or accuracy over steps: validation strong, training thin; each run can be read by pointing at it."""
    traces: list[go.Scatter] = []
    for place, arm in enumerate(study.arms):
        of_arm = [run for run in runs if (run.setting, run.arm) == (setting, arm.name)]
        traces += _of_arm(arm.name, place, "training", 0.35,
                          [(run, _points(run.training, quantity)) for run in of_arm])
        traces += _of_arm(arm.name, place, "validation", 0.45,
                          [(run, _points(run.validation, quantity)) for run in of_arm])
        traces += _mean(arm.name, place, [_points(run.validation, quantity) for run in of_arm])
    percent = quantity == "accuracy"
    look = colours.layout(
        HEIGHT, showlegend=len(study.arms) > 1, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        hovermode="closest", xaxis={"title": {"text": "steps"}, "gridcolor": colours.GRID},
        yaxis={"title": {"text": "accuracy, %" if percent else "loss"}, "gridcolor": colours.GRID,
               "zeroline": False},
    )
    arms = ", ".join(arm.name for arm in study.arms)
    return PlotlyPicture(go.Figure(traces, look),
                         alt=f"{quantity} over steps in {setting}, of every run and as mean of each arm: {arms}")


def by_size(study: Study) -> bool:
    """Whether its settings are so many numbers of images that a curve can be drawn over them."""
    sizes = {setting.base.images_per_epoch for setting in study.settings}
    return len(sizes) == len(study.settings) > 2


def over_sizes(study: Study, runs: Sequence[RunResult]) -> PlotlyPicture:
    """What each arm reaches with so many training images: its mean with a 95 % interval."""
    sizes = {setting.name: setting.base.images_per_epoch for setting in study.settings}
    traces: list[go.Scatter] = []
    told = []
    for place, arm in enumerate(study.arms):
        found = {setting: estimate([run.measures["accuracy"] for run in runs
                                    if (run.setting, run.arm) == (setting, arm.name)]) for setting in sizes}
        reached = {setting: one for setting, one in found.items() if one.n}
        half = [one.high - one.mean if one.certain else 0.0 for one in reached.values()]
        traces.append(go.Scatter(
            x=[sizes[setting] for setting in reached], y=[one.mean for one in reached.values()], name=arm.name,
            mode="lines+markers", error_y={"array": half, "thickness": 2, "width": 6},
            customdata=[f"{one.mean:.2f} ± {span:.2f} %" for one, span in zip(reached.values(), half, strict=True)],
            line={"color": _colour(place), "width": 3, "dash": DASHES[place % len(DASHES)]},
            marker={"size": 9, "symbol": SYMBOLS[place % len(SYMBOLS)]},
            hovertemplate=f"{arm.name}, %{{x:,}} images<br><b>%{{customdata}}</b><extra></extra>",
        ))
        told += [f"{arm.name} {one.mean:.1f} % with {setting}" for setting, one in reached.items()]
    look = colours.layout(
        HEIGHT, showlegend=len(study.arms) > 1, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        hovermode="closest",
        xaxis={"title": {"text": "training images"}, "type": "log", "tickvals": list(sizes.values()),
               "ticktext": [f"{size:,}" for size in sizes.values()], "gridcolor": colours.GRID},
        yaxis={"title": {"text": "accuracy, %"}, "gridcolor": colours.GRID, "zeroline": False},
    )
    return PlotlyPicture(go.Figure(traces, look), alt=f"accuracy over the number of training images: {', '.join(told)}")


def _points(rows: Iterable[Row], quantity: str) -> list[Point]:
    return [(row[0], row[WHICH[quantity]]) for row in rows]


def _of_arm(arm: str, place: int, kind: str, opacity: float, runs: list[tuple[RunResult, list[Point]]]
            ) -> list[go.Scatter]:
    """All runs of an arm as one line with gaps: many lines would make the page slow."""
    x: list[float | None] = []
    y: list[float | None] = []
    seeds: list[int | None] = []
    for run, points in runs:
        x += [*(point[0] for point in points), None]
        y += [*(point[1] for point in points), None]
        seeds += [*(run.seed for _ in points), None]
    return [go.Scatter(
        x=x, y=y, customdata=seeds, mode="lines", opacity=opacity, showlegend=False,
        line={"color": _colour(place), "width": 1, "dash": "dot" if kind == "training" else "solid"},
        hovertemplate=f"{arm}, {kind}, seed %{{customdata}}<br>step %{{x:,}}: <b>%{{y:.4g}}</b><extra></extra>",
    )] if x else []


def _mean(arm: str, place: int, of_runs: list[list[Point]]) -> list[go.Scatter]:
    """Over the steps that all runs have."""
    if not of_runs:
        return []
    known = [dict(points) for points in of_runs]
    steps = sorted(set.intersection(*(set(points) for points in known)))
    return [go.Scatter(
        x=steps, y=[fmean(points[step] for points in known) for step in steps], mode="lines+markers", name=arm,
        line={"color": _colour(place), "width": 3, "dash": DASHES[place % len(DASHES)]},
        marker={"size": 7, "symbol": SYMBOLS[place % len(SYMBOLS)]},
        hovertemplate=f"{arm}, mean of {len(known)}<br>step %{{x:,}}: <b>%{{y:.4g}}</b><extra></extra>",
    )]


def _colour(place: int) -> str:
    return colours.ARMS[place % len(colours.ARMS)]


# What was read off the weights


def names_of_readings(runs: Sequence[RunResult], setting: str) -> list[str]:
    """Those that have a number for each block or class."""
    return list(dict.fromkeys(name for run in runs if run.setting == setting
                              for name, found in run.readings.items() if isinstance(found, list) and found))


def reading(study: Study, setting: str, runs: Sequence[RunResult], name: str, classes: Sequence[str]) -> PlotlyPicture:
    """By block or by class: a dot for each run, and a line through the means of each arm."""
    by_class = "by class" in name
    label: Callable[[int], str] = (lambda i: classes[i] if i < len(classes) else str(i)) if by_class else (
        lambda i: str(i + 1))
    traces: list[go.Scatter] = []
    for place, arm in enumerate(study.arms):
        found = [(run.seed, values) for run in runs if (run.setting, run.arm) == (setting, arm.name)
                 and isinstance(values := run.readings.get(name), list)]
        if not found:
            continue
        along = [label(i) for i in range(min(len(values) for _, values in found))]
        traces.append(go.Scatter(
            x=[along[i] for _, values in found for i in range(len(along))],
            y=[values[i] for _, values in found for i in range(len(along))],
            customdata=[seed for seed, _ in found for _ in along], mode="markers", showlegend=False, opacity=0.45,
            marker={"color": _colour(place), "size": 6, "symbol": SYMBOLS[place % len(SYMBOLS)]},
            hovertemplate=f"{arm.name}, seed %{{customdata}}<br>%{{x}}: <b>%{{y:.3g}}</b><extra></extra>",
        ))
        means = [fmean(values[i] for _, values in found) for i in range(len(along))]
        traces.append(go.Scatter(
            x=along, y=means, mode="lines+markers", name=arm.name, text=[number(mean) for mean in means],
            line={"color": _colour(place), "width": 3, "dash": DASHES[place % len(DASHES)]},
            marker={"size": 8, "symbol": SYMBOLS[place % len(SYMBOLS)]},
            hovertemplate=f"{arm.name}, mean of {len(found)}<br>%{{x}}: <b>%{{text}}</b><extra></extra>",
        ))
    look = colours.layout(
        HEIGHT, showlegend=len(study.arms) > 1, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        hovermode="closest",
        xaxis={"title": {"text": "class" if by_class else "block"}, "type": "category"},
        yaxis={"type": "log" if name in OF_MANY_SIZES else "linear", "gridcolor": colours.GRID,
               "zeroline": False, "ticksuffix": " %" if "accuracy" in name else "", "exponentformat": "power"},
    )
    return PlotlyPicture(go.Figure(traces, look), alt=f"{name} in {setting}, of every run and as mean of each arm")
