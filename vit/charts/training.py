"""Pictures of runs: how they learn, what they learn from, and who pays for what is different."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from vit.charts.colours import ARMS, FLIP, data_uri, rgb
from vit.charts.picture import Curve, CurvesPicture, LivePicture, PixelPicture, TemplatePicture
from vit.compare import Gap, Verdicts, answers, per_class
from vit.numbers import with_sign
from vit.reports import Report, StepReport, Validation, of_kind

DECALS = (  # bars are told apart by more than their colour
    None,
    {"symbol": "rect", "dashArrayX": [1, 0], "dashArrayY": [2, 4], "rotation": 0.8, "color": "rgba(255,255,255,0.35)"},
)
AXES = {"step": "steps", "epoch": "epochs", "seconds": "seconds"}
DECIMALS = {"step": 0, "epoch": 2, "seconds": 1}
MOST_POINTS = 200
BATCH_COLUMNS = 8
FRAME = 2  # pixels around each image of a batch

Measured = Sequence[StepReport] | Sequence[Validation]
Names = tuple[str, str]  # of the two arms
Thing = TypeVar("Thing")


def colour_of(side: int) -> str:
    return ARMS[side % len(ARMS)]


# Curves


@dataclass(frozen=True)
class Line:
    """One run in a chart."""

    name: str
    side: int  # its place among those that it is compared with
    reports: list[Report]
    faded: bool = False  # the run that another is compared with


def curves(lines: Sequence[Line], quantity: str, x: str, classes: int = 10) -> CurvesPicture:
    """Loss or accuracy over steps, epochs or seconds: thin lines for training, dots for validation."""
    percent = quantity == "accuracy"
    guess = 100 / classes if percent else math.log(classes)
    return CurvesPicture(
        [curve for line in lines for curve in _curves_of(line, quantity, x)],
        alt=f"{quantity} over {AXES[x]}, in training and on validation images, of runs "
            + ", ".join(line.name for line in lines),
        axis=AXES[x], decimals=DECIMALS[x], unit=" %" if percent else "", precision=1 if percent else 3,
        top=100 if percent else None,
        level=(round(guess, 4), f"guessing {guess:.0f} %" if percent else f"guessing ln {classes} = {guess:.2f}"),
    )


def _curves_of(line: Line, quantity: str, x: str) -> Iterator[Curve]:
    measured: dict[str, Measured] = {
        "training": of_kind(line.reports, StepReport), "validation": of_kind(line.reports, Validation),
    }
    for kind, reports in measured.items():
        yield Curve(f"{line.name} · {kind}", points(reports, quantity, x), colour_of(line.side),
                    dashed=line.side % 2 == 1, dots=kind == "validation", faded=line.faded)


def learning_rates(lines: Sequence[Line], x: str) -> CurvesPicture:
    """How far each step moves the weights: what warm-up and schedule do is seen here."""
    found = [(line, points(of_kind(line.reports, StepReport), "learning_rate", x, decimals=12)) for line in lines]
    highest = max((abs(rate) for _, rates in found for _, rate in rates), default=0.0)
    return CurvesPicture(
        [Curve(line.name, rates, colour_of(line.side), dashed=line.side % 2 == 1, faded=line.faded, bold=True)
         for line, rates in found],
        alt=f"learning rate over {AXES[x]} of runs " + ", ".join(line.name for line in lines),
        axis=AXES[x], decimals=DECIMALS[x], precision=min(max(2 - math.floor(math.log10(highest or 1)), 0), 12),
    )


def points(reports: Measured, quantity: str, x: str, decimals: int = 4) -> list[tuple[float, float]]:
    factor = 100 if quantity == "accuracy" else 1
    return [(round(getattr(report, x), 3), round(factor * getattr(report, quantity), decimals))
            for report in thinned(reports)]


def thinned(many: Sequence[Thing]) -> list[Thing]:
    """At most so many that a chart stays quick; the first and the last are always among them."""
    if len(many) <= MOST_POINTS:
        return list(many)
    return [many[i] for i in np.unique(np.linspace(0, len(many) - 1, MOST_POINTS).round().astype(int))]


def legend(names: Sequence[str], note: str = "thin: training · dots: validation") -> TemplatePicture:
    marks = ("━━ ●", "╍╍ ◆")
    return TemplatePicture("curves_legend", {
        "arms": [{"name": name, "mark": marks[side % 2], "colour": colour_of(side)} for side, name in enumerate(names)],
        "note": note,
    }, alt="which line is which")


# How far they are


def gap_card(gap: Gap | None, first: str) -> TemplatePicture:
    """The gap as a big number."""
    return TemplatePicture("gap", {
        "points": with_sign(gap.points, 1) if gap else "…",
        "margin": f"± {(gap.high - gap.low) / 2:.1f}" if gap else "",
        "first": first,
    }, alt=f"how many points ahead: {first}")


def progress(name: str, side: int, words: Sequence[str], done: float) -> TemplatePicture:
    """How far a run is: what is to be said of it, and a bar."""
    share = min(1.0, max(0.0, done))
    return TemplatePicture("progress", {
        "name": name, "words": list(words), "colour": colour_of(side), "percent": round(100 * share, 1),
    }, alt=f"{share:.0%} of the run {name} is done")


# Who pays


def class_bars(verdicts: Verdicts, classes: Sequence[str], names: Names) -> LivePicture:
    """Accuracy per class, in pairs, with the change that the second twin brings under each."""
    return bars([per_class(verdict) for verdict in verdicts], classes, names, "accuracy per class")


def bars(values: Sequence[Sequence[float] | np.ndarray], classes: Sequence[str], names: Names, what: str
         ) -> LivePicture:
    """Percentages of both twins, class by class, with the difference below each."""
    ours, theirs = values
    changes = [with_sign(b - a, 0) for a, b in zip(ours, theirs, strict=True)]
    categories = [f"{name}\n{change}" for name, change in zip(classes, changes, strict=True)]
    series = [
        {
            "type": "bar", "name": name, "data": [round(float(value), 1) for value in of_one],
            "itemStyle": {"color": colour_of(side), "borderRadius": [3, 3, 0, 0], "decal": DECALS[side]},
        }
        for side, (name, of_one) in enumerate(zip(names, values, strict=True))
    ]
    return LivePicture({
        "animation": False,
        "grid": {"left": 52, "right": 8, "top": 12, "bottom": 48},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}, "confine": True,
                    "valueFormatter": "%.1f %%"},
        "xAxis": {"type": "category", "data": categories, "axisLabel": {"interval": 0, "lineHeight": 18}},
        "yAxis": {"type": "value", "min": 0, "max": 100, "axisLabel": {"formatter": "{value} %"}},
        "series": series,
    }, alt=f"{what} {names[0]} and {names[1]}, with the difference below each")


def misread(
    images: np.ndarray, labels: np.ndarray, chosen: Sequence[int], verdicts: Verdicts, classes: Sequence[str],
    side: int = 1, mirrored: bool = False,
) -> TemplatePicture:
    """Images that only one twin gets wrong, each beside its mirror image where that says something."""
    theirs = answers(verdicts[1])
    return TemplatePicture("misread", {"colour": colour_of(side), "images": [
        {"source": data_uri(images[i]), "label": classes[labels[i]], "answer": classes[theirs[i]],
         "mirrored": data_uri(np.ascontiguousarray(images[i][:, ::-1])) if mirrored else ""}
        for i in chosen
    ]}, alt="images that only one twin gets wrong" + (", each beside its mirror image" if mirrored else ""))


# What they learn from, and what became of it


def batch(images: np.ndarray, mirrored: np.ndarray, step: int) -> PixelPicture:
    """A batch as one picture; mirrored images have a frame in the colour of flips."""
    if images.ndim == 3:
        images = np.repeat(images[..., None], 3, axis=-1)
    edge = slice(FRAME, -FRAME)
    height, width = (side + 2 * FRAME for side in images.shape[1:3])
    tiles = np.full((len(images), height, width, 3), 40, np.uint8)
    tiles[mirrored] = rgb(FLIP)
    tiles[:, edge, edge] = images
    tiles = np.pad(tiles, ((0, -len(tiles) % BATCH_COLUMNS), (0, 0), (0, 0), (0, 0)))
    rows = len(tiles) // BATCH_COLUMNS
    pixels = tiles.reshape(rows, BATCH_COLUMNS, height, width, 3).swapaxes(1, 2)  # (rows, height, columns, width, 3)
    return PixelPicture(
        pixels.reshape(rows * height, BATCH_COLUMNS * width, 3), rows, BATCH_COLUMNS, width=380,
        alt=f"the images of step {step}, mirrored ones framed",
        labels=["mirrored" if flipped else "as it is" for flipped in mirrored],
    )


def gallery(pictures: Mapping[str, np.ndarray]) -> TemplatePicture:
    """Small pictures side by side, each with its caption."""
    return TemplatePicture("gallery", {
        "pictures": [{"caption": caption, "source": data_uri(pixels)} for caption, pixels in pictures.items()],
    }, alt="; ".join(pictures))
