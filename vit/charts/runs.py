"""Metrics of runs to charts, as plain values that a page can draw, and to numbers and sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from vit.charts.colours import FLIP, NO_FLIP, rgb
from vit.charts.numbers import with_sign

COLOURS = {False: NO_FLIP, True: FLIP}
NAMES = {False: "without flips", True: "with flips"}
DECALS = {  # bars are told apart by more than their colour
    False: None,
    True: {"symbol": "rect", "dashArrayX": [1, 0], "dashArrayY": [2, 4], "rotation": 0.8,
           "color": "rgba(255,255,255,0.35)"},
}
AXES = {"step": "steps", "epoch": "epochs", "seconds": "seconds"}
DECIMALS = {"step": 0, "epoch": 2, "seconds": 1}
MOST_POINTS = 200

Reports = Sequence[dict]


def of_kind(reports: Reports, kind: str) -> list[dict]:
    return [report for report in reports if report["kind"] == kind]


# Curves


@dataclass(frozen=True)
class Line:
    """One run in a chart."""

    name: str
    flips: bool
    reports: Reports
    faded: bool = False  # the run that another is compared with


def curves(lines: Sequence[Line], quantity: str, x: str, classes: int = 10) -> dict:
    """Loss or accuracy over steps, epochs or seconds: thin lines for training, dots for validation."""
    percent = quantity == "accuracy"
    guess = 100 / classes if percent else math.log(classes)
    return {
        "lines": [one for line in lines for one in _drawn(line, quantity, x)],
        "guess": {"value": round(guess, 4),
                  "name": f"guessing {guess:.0f} %" if percent else f"guessing ln {classes} = {guess:.2f}"},
        "axis": AXES[x], "decimals": DECIMALS[x], "unit": " %" if percent else "",
        "precision": 1 if percent else 3, "top": 100 if percent else None,
    }


def _drawn(line: Line, quantity: str, x: str) -> list[dict]:
    fade = 0.4 if line.faded else 1
    kinds = {"train": ("training", 1.2, 0.6 * fade), "validation": ("validation", 2.6, fade)}
    return [
        {
            "name": f"{line.name} · {name}", "points": points(of_kind(line.reports, kind), quantity, x),
            "colour": COLOURS[line.flips], "dashed": line.flips, "dots": kind == "validation",
            "width": width, "opacity": opacity,
        }
        for kind, (name, width, opacity) in kinds.items()
    ]


def points(reports: Reports, quantity: str, x: str) -> list[list[float]]:
    factor = 100 if quantity == "accuracy" else 1
    return [[round(report[x], 3), round(factor * report[quantity], 4)] for report in thinned(reports)]


def thinned(many: Sequence) -> list:
    """At most so many that a chart stays quick; the first and the last are always among them."""
    if len(many) <= MOST_POINTS:
        return list(many)
    return [many[i] for i in np.unique(np.linspace(0, len(many) - 1, MOST_POINTS).round().astype(int))]


# The lesson


@dataclass(frozen=True)
class Gap:
    """How many points of accuracy the run without flips is ahead, with a 95 % interval."""

    points: float
    low: float
    high: float
    images: int
    step: int

    @property
    def clear(self) -> bool:
        return self.low > 0 or self.high < 0


def latest_verdicts(plain: Reports, flips: Reports) -> tuple[dict, dict] | None:
    """The twins' last validation at the same step, after the first."""
    theirs = {report["step"]: report for report in of_kind(flips, "validation")}
    for report in reversed(of_kind(plain, "validation")):
        other = theirs.get(report["step"])
        if other and report["step"] > 0 and other["images"] == report["images"]:
            return report, other
    return None


def measure_gap(plain: dict, flips: dict, labels: np.ndarray) -> Gap:
    """Paired: both twins judged the same images, so only those count that one reads and the other does not.

    The interval is the adjusted Wald interval for paired proportions (Bonett and Price 2012).
    """
    hit, other_hit = (answers(report) == labels for report in (plain, flips))
    n, only_plain, only_flips = len(labels), int((hit & ~other_hit).sum()), int((other_hit & ~hit).sum())
    p, q = (only_plain + 1) / (n + 2), (only_flips + 1) / (n + 2)
    half = 1.96 * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    measured, middle = (only_plain - only_flips) / n, p - q
    return Gap(100 * measured, 100 * (middle - half), 100 * (middle + half), n, plain["step"])


def answers(report: dict) -> np.ndarray:
    return np.frombuffer(report["predictions"].encode(), np.uint8) - ord("0")


def lesson(gap: Gap | None, dataset: str = "mnist", training: bool = False) -> str:
    """The finding in a sentence, or why there is none."""
    if gap is None:
        then = "Their first results come in a few seconds." if training else "There are no results to compare yet."
        return f"Both twins start from the same weights. {then}"
    points, low, high = (with_sign(value, 1) for value in (gap.points, gap.low, gap.high))
    measured = (f"{points} points (95 % sure: between {low} and {high}), on the same "
                f"{gap.images:,} validation images after {gap.step:,} steps with this seed")
    if not gap.clear:
        return f"Too close to tell yet. The gap is {measured}; it could be chance. Train longer to know."
    if gap.points > 0:
        thing = "digits" if dataset == "mnist" else "images"
        return f"Flipping {thing} hurts: the twin without flips is ahead by {measured}."
    return f"Flipping helps here: the twin with flips is ahead. The gap is {measured}."


def per_class(report: dict) -> np.ndarray:
    """Accuracy on each class, in percent."""
    confusion = np.array(report["confusion"])
    return 100 * np.diag(confusion) / np.maximum(1, confusion.sum(1))


def class_bars(plain: dict, flips: dict, names: Sequence[str]) -> dict:
    """Accuracy per digit, in pairs, with the change that flips bring under each."""
    ours, theirs = per_class(plain), per_class(flips)
    changes = [f"{b - a:+.0f}".replace("-", "−") for a, b in zip(ours, theirs, strict=True)]
    categories = [f"{name}\n{change}" for name, change in zip(names, changes, strict=True)]
    series = [
        {
            "type": "bar", "name": NAMES[flip], "data": [round(float(value), 1) for value in values],
            "itemStyle": {"color": COLOURS[flip], "borderRadius": [3, 3, 0, 0], "decal": DECALS[flip]},
        }
        for flip, values in ((False, ours), (True, theirs))
    ]
    return {
        "animation": False,
        "grid": {"left": 52, "right": 8, "top": 12, "bottom": 48},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}, "confine": True,
                    "valueFormatter": "%.1f %%"},
        "xAxis": {"type": "category", "data": categories, "axisLabel": {"interval": 0, "lineHeight": 18}},
        "yAxis": {"type": "value", "min": 0, "max": 100, "axisLabel": {"formatter": "{value} %"}},
        "series": series,
    }


@dataclass(frozen=True)
class Mixup:
    """Two classes that are taken for one another, and how often by each twin."""

    one: int
    other: int
    plain: int
    flips: int


def grown_mixups(plain: dict, flips: dict, most: int = 3) -> list[Mixup]:
    """The pairs of classes that flipping mixes up most, worst first."""
    ours, theirs = (np.array(report["confusion"]) for report in (plain, flips))
    ours, theirs = ours + ours.T, theirs + theirs.T
    pairs = [Mixup(i, j, int(ours[i, j]), int(theirs[i, j]))
             for i in range(len(ours)) for j in range(i + 1, len(ours))]
    pairs.sort(key=lambda pair: pair.plain - pair.flips)
    return [pair for pair in pairs[:most] if pair.flips > pair.plain]


def misread(
    plain: dict, flips: dict, labels: np.ndarray, mixups: Sequence[Mixup], most: int = 6
) -> list[int]:
    """Images that only the twin with flips gets wrong: the mix-ups take turns, the most grown first."""
    ours, theirs = answers(plain), answers(flips)
    wrong = np.flatnonzero((ours == labels) & (theirs != labels))
    examples = [
        [int(i) for i in wrong if {int(labels[i]), int(theirs[i])} == {pair.one, pair.other}] for pair in mixups
    ]
    turns = [i for turn in zip_longest(*examples) for i in turn if i is not None]
    return turns[:most]


# Pictures


def batch_strip(images: np.ndarray, mirrored: np.ndarray, columns: int = 16) -> np.ndarray:
    """The batch as one picture; mirrored images have a frame in the colour of flips."""
    if images.ndim == 3:
        images = np.repeat(images[..., None], 3, axis=-1)
    tiles = np.full((len(images), images.shape[1] + 4, images.shape[2] + 4, 3), 40, np.uint8)
    tiles[mirrored] = rgb(FLIP)
    tiles[:, 2:-2, 2:-2] = images
    tiles = np.pad(tiles, ((0, -len(tiles) % columns), (0, 0), (0, 0), (0, 0)))
    rows = tiles.reshape(-1, columns, *tiles.shape[1:]).swapaxes(1, 2)
    return rows.reshape(rows.shape[0] * rows.shape[1], -1, 3)


# Progress


@dataclass(frozen=True)
class Pace:
    step: int
    images_per_second: float
    seconds_left: float
    seconds: float


def pace(reports: Reports, steps: int) -> Pace | None:
    """How fast the run is by its last reports, and how long the rest will take."""
    recent = of_kind(reports, "train")[-30:]
    if not recent:
        return None
    last, first = recent[-1], recent[0] if len(recent) > 1 else {"seconds": 0, "step": 0}
    per_step = (last["seconds"] - first["seconds"]) / max(1, last["step"] - first["step"])
    return Pace(last["step"], last["images_per_second"], (steps - last["step"]) * per_step, last["seconds"])
