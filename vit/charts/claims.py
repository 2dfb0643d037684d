"""Pictures of what a study compares: every run as a dot, every difference with its interval, and how runs learned."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.picture import PlotlyPicture
from vit.studies import words
from vit.studies.results import ENDS, Finding, RunResult, looking_up
from vit.studies.study import (
    CANNOT_TELL,
    DOES_NOT,
    HOLDS,
    IN_PART,
    Above,
    Between,
    Near,
    NoWorse,
    Rule,
    Study,
)

BADGES = {HOLDS: "holds", IN_PART: "part", DOES_NOT: "not", CANNOT_TELL: "open", words.NOT_TRIED: "untried"}
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "pentagon", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
ROW, ABOVE, BELOW = 44, 48, 42  # pixels: of an arm, and of what stands above and below each band
LABEL = 18  # characters in a line of a label
BESIDE = 0.24  # of a row: how far a visitor's own dots lie below the recorded ones
LETTER, LEAST_LEFT = 6.6, 40  # pixels: of a label, and where there is none
SOFT = "rgba(128,128,128,0.45)"


@dataclass(frozen=True)
class Band:
    """One measure in one setting: what its arms reached, and what rules make of it."""

    setting: str
    measure: str
    findings: tuple[Finding, ...]

    def rows(self, study: Study) -> int:
        return max(len(study.arms), len(self.findings))


def bands(study: Study, findings: Iterable[Finding]) -> list[Band]:
    """In the order of settings, and of rules in each."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.setting, study.rules[finding.rule].measure), []).append(finding)
    order = {setting.name: number for number, setting in enumerate(study.settings)}
    ordered = sorted(found.items(), key=lambda item: order[item[0][0]])
    return [Band(setting, measure, tuple(of_it)) for (setting, measure), of_it in ordered]


# Every run


def every_run(study: Study, shown: Sequence[Band], recorded: Sequence[RunResult], own: Sequence[RunResult] = (), *,
              dark: bool) -> PlotlyPicture:
    """A dot for each run, joined to its twins of the same seed; a visitor's own as hollow dots below them."""
    traces: list[go.Scatter] = []
    ranges = []
    for number, band in enumerate(shown):
        reach: list[float] = []
        for some, whose in ((recorded, ""), (own, "here, ")):
            there = [run for run in some if run.setting == band.setting]
            traces += _dots(study, band, number, there, whose)
            ended = looking_up([run for run in there if run.ended in ENDS])(band.measure)
            reach += [value for of_arm in ended.values() for value in of_arm.values()]
        ranges.append(_range(reach))  # runs that still train come in from the side
    names = [[arm.name for arm in study.arms] for _ in shown]
    return PlotlyPicture(go.Figure(traces, _layout(study, shown, names, ranges, dark=dark, differences=False)),
                         alt=_told(study, shown, [*recorded, *own]))


def _dots(study: Study, band: Band, number: int, runs: Sequence[RunResult], whose: str) -> Iterator[go.Scatter]:
    values = looking_up(list(runs))(band.measure)
    state = {(run.arm, run.seed): run.ended for run in runs if run.ended != "done"}
    places = {arm.name: -row - (BESIDE if whose else 0.0) for row, arm in enumerate(study.arms)}
    axes = _axes(number)
    seeds = sorted({seed for of_arm in values.values() for seed in of_arm})
    x: list[float | None] = []
    y: list[float | None] = []
    for seed in seeds:
        joined = [(values[arm][seed], place) for arm, place in places.items() if seed in values.get(arm, {})]
        x += [*(value for value, _ in joined), None]
        y += [*(place for _, place in joined), None]
    if len(study.arms) > 1 and seeds:
        yield go.Scatter(x=x, y=y, mode="lines", line={"color": colours.ACCENT if whose else SOFT, "width": 1},
                         hoverinfo="skip", **axes)
    for row, arm in enumerate(study.arms):
        of_arm = values.get(arm.name, {})
        if not of_arm:
            continue
        symbol = SYMBOLS[row % len(SYMBOLS)]
        colour = colours.ARMS[row % len(colours.ARMS)]
        yield go.Scatter(
            x=list(of_arm.values()), y=[places[arm.name]] * len(of_arm), mode="markers",
            customdata=[[seed, f", {ended}" if (ended := state.get((arm.name, seed))) else ""] for seed in of_arm],
            text=[words.value(band.measure, value) for value in of_arm.values()],
            hovertemplate=f"{arm.name}<br>{whose}seed %{{customdata[0]}}%{{customdata[1]}}: "
                          "<b>%{text}</b><extra></extra>",
            marker={"color": colour, "size": 11, "line": {"color": colours.ACCENT if whose else colour, "width": 2},
                    "symbol": ["x" if state.get((arm.name, seed)) == "diverged" else
                               symbol + ("-open" if whose else "") for seed in of_arm],
                    "opacity": 1.0 if whose else 0.75},
            **axes,
        )


def _told(study: Study, shown: Sequence[Band], recorded: Sequence[RunResult]) -> str:
    arms = ", ".join(arm.name for arm in study.arms)
    measures = ", ".join(dict.fromkeys(f"{band.measure} in {band.setting}" for band in shown))
    return f"{len(recorded)} runs as dots, by arm ({arms}): {measures}"


# Every difference


def every_difference(study: Study, shown: Sequence[Band], own: Sequence[Band] = (), *, dark: bool) -> PlotlyPicture:
    """What each rule looks at: a dot for each seed, the mean with its 95 % interval as a bar, and what is asked."""
    traces: list[go.Scatter] = []
    shapes: list[dict[str, Any]] = []
    names, ranges = [], []
    mine = {(band.setting, finding.rule): finding for band in own for finding in band.findings}
    for number, band in enumerate(shown):
        rules = [study.rules[finding.rule] for finding in band.findings]
        names.append([label_of(rule) for rule in rules])
        reach: list[float] = []
        for row, (rule, finding) in enumerate(zip(rules, band.findings, strict=True)):
            shapes += _asked_for(rule, row, number)
            reach += [*asked(rule), *finding.values, *(end for end in (finding.low, finding.high) if end is not None)]
            traces += _interval(rule, finding, -row, number, colours.VERDICTS[BADGES[finding.verdict]], "")
            if (other := mine.get((band.setting, finding.rule))) and other.values:
                reach += other.values
                traces += _interval(rule, other, -row - BESIDE, number, colours.ACCENT, "here, ")
        ranges.append(_range(reach))
    layout = _layout(study, shown, names, ranges, dark=dark, differences=True) | {"shapes": shapes}
    told = "; ".join(words.finding_in_words(study.rules[finding.rule], finding).rstrip(".")
                     for band in shown for finding in band.findings)
    return PlotlyPicture(go.Figure(traces, layout), alt=f"differences with their intervals: {told}")


def label_of(rule: Rule) -> str:
    return " − ".join(rule.arms) if len(rule.arms) == 2 else rule.arms[0]


def asked(rule: Rule) -> tuple[float, ...]:
    """The places on the axis that a rule's verdict hangs on."""
    match rule:
        case Above():
            return 0.0, rule.margin
        case NoWorse():
            return -rule.margin, 0.0
        case Between():
            return rule.low, rule.high
        case Near():
            return rule.figure - rule.within, rule.figure + rule.within
    return ()


def _asked_for(rule: Rule, row: int, number: int) -> Iterator[dict[str, Any]]:
    """The zero line and the margin, or the range in which a measure shall lie."""
    axes = {"xref": _axes(number)["xaxis"], "yref": _axes(number)["yaxis"]}
    top, bottom = -row + 0.45, -row - 0.45
    places = asked(rule)
    if isinstance(rule, Between | Near):
        yield {"type": "rect", "x0": places[0], "x1": places[1], "y0": bottom, "y1": top, "line": {"width": 0},
               "fillcolor": "rgba(0,180,216,0.18)", "layer": "below", **axes}
        return
    margin = next((place for place in places if place), 0.0)
    yield {"type": "line", "x0": 0, "x1": 0, "y0": bottom, "y1": top, "line": {"color": colours.CALM, "width": 2},
           "layer": "below", **axes}
    if margin:
        yield {"type": "line", "x0": margin, "x1": margin, "y0": bottom, "y1": top, "layer": "below",
               "line": {"color": colours.ACCENT, "width": 2, "dash": "dot"}, **axes}


def _interval(rule: Rule, finding: Finding, place: float, number: int, colour: str, whose: str
              ) -> Iterator[go.Scatter]:
    axes = _axes(number)
    written = words.difference if isinstance(rule, Above | NoWorse) else words.value
    if finding.low is not None and finding.high is not None:
        yield go.Scatter(x=[finding.low, finding.high], y=[place, place], mode="lines", hoverinfo="skip",
                         line={"color": colour, "width": 12}, opacity=0.4, **axes)
    yield go.Scatter(
        x=finding.values, y=[place] * len(finding.values), mode="markers", customdata=finding.seeds,
        text=[written(rule.measure, value) for value in finding.values],
        hovertemplate=f"{whose}seed %{{customdata}}: <b>%{{text}}</b><extra></extra>",
        marker={"color": colour, "size": 7, "symbol": "circle-open", "line": {"width": 1.5}}, **axes,
    )
    if finding.values:
        sure = "" if finding.low is None or finding.high is None else (
            f"<br>95 % sure: {written(rule.measure, finding.low)} to {written(rule.measure, finding.high)}")
        yield go.Scatter(
            x=[finding.mean], y=[place], mode="markers",
            hovertemplate=f"{whose}mean: <b>{written(rule.measure, finding.mean)}</b>{sure}<extra></extra>",
            marker={"color": colour, "size": 22, "symbol": "line-ns", "line": {"color": colour, "width": 4}}, **axes,
        )


def _range(reach: Sequence[float]) -> list[float] | None:
    if not reach:
        return None
    low, high = min(reach), max(reach)
    room = 0.08 * ((high - low) or 1.0)
    return [low - room, high + room]


# Bands below each other, in both pictures alike


def _axes(number: int) -> dict[str, str]:
    ending = "" if number == 0 else str(number + 1)
    return {"xaxis": f"x{ending}", "yaxis": f"y{ending}"}


def _layout(study: Study, shown: Sequence[Band], names: Sequence[Sequence[str]], ranges: Sequence[list[float] | None],
            *, dark: bool, differences: bool) -> dict[str, Any]:
    heights = [band.rows(study) * ROW + ABOVE + BELOW for band in shown]
    whole = sum(heights) or ROW
    font = {"size": 14, "color": colours.TEXT[dark]}
    own: dict[str, Any] = {}
    titles, top = [], 1.0
    labels = [["<br>".join(wrap(name, LABEL)) for name in of_band] for of_band in names]
    for number, (band, height) in enumerate(zip(shown, heights, strict=True)):
        rows = band.rows(study)
        start, end = top - (height - BELOW) / whole, top - ABOVE / whole
        x, y = (name.replace("x", "xaxis").replace("y", "yaxis") for name in _axes(number).values())
        own[y] = {"domain": [max(start, 0.0), end], "range": [-rows + 0.4, 0.6], "showgrid": False, "zeroline": False,
                  "tickvals": [-row for row in range(len(labels[number]))], "ticktext": labels[number],
                  "tickfont": font, "automargin": False}
        own[x] = {"anchor": _axes(number)["yaxis"], "zeroline": False, "gridcolor": colours.GRID,
                  "showgrid": True, "nticks": 6, "tickfont": font, "automargin": False}
        if ranges[number]:
            own[x]["range"] = ranges[number]
        titles.append({"text": _title(study, band, differences), "align": "left", "showarrow": False,
                       "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper", "yanchor": "top",
                       "font": font})
        top -= height / whole
    # Plotly would draw everything twice to find out how much room the labels need.
    longest = max((len(line) for of_band in labels for label in of_band for line in label.split("<br>")), default=0)
    return colours.layout(whole + 8, annotations=titles, hovermode="closest", **own) | {
        "margin": {"l": max(round(LETTER * longest) + 12, LEAST_LEFT), "r": 12, "t": 0, "b": 8}}


def _title(study: Study, band: Band, differences: bool) -> str:
    compared = any(isinstance(study.rules[finding.rule], Above | NoWorse) for finding in band.findings)
    if differences and compared:
        of = "difference in points" if band.measure == "accuracy" else f"difference of {band.measure}"
    else:
        of = band.measure + (", %" if words.in_percent(band.measure) else "")
    return f"<b>{band.setting}</b><br>{of}"
