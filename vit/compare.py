"""Runs beside each other, from what they report: who is ahead and how surely, what flips mix up, how fast each is, and
in what they differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest

import numpy as np

from vit.config import TrainConfig
from vit.datasets import DATASETS
from vit.numbers import with_sign
from vit.reports import Report, StepReport, Validation, of_kind

NAMES = {False: "without flips", True: "with flips"}
RECENT = 30  # reports from which the pace is taken

Verdicts = tuple[Validation, Validation]  # of the twin without flips, and of the one with


# Who is ahead


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


def latest_verdicts(plain: list[Report], flips: list[Report]) -> Verdicts | None:
    """The twins' last validation at the same step and on as many images, after the first."""
    theirs = {report.step: report for report in of_kind(flips, Validation)}
    for report in reversed(of_kind(plain, Validation)):
        other = theirs.get(report.step)
        if other and report.step > 0 and other.images == report.images:
            return report, other
    return None


def fit(verdicts: Verdicts, labels: np.ndarray, classes: int) -> bool:
    """Whether these are verdicts on such images: what a file says may be about others."""
    return all(len(verdict.confusion) == classes and verdict.images == len(labels) for verdict in verdicts)


def measure_gap(verdicts: Verdicts, labels: np.ndarray) -> Gap:
    """Paired: both twins judged the same images, so only those count that one reads and the other does not.

    The interval is the adjusted Wald interval for paired proportions (Bonett and Price 2012).
    """
    hit, other_hit = (answers(verdict) == labels for verdict in verdicts)
    n, only_plain, only_flips = len(labels), int((hit & ~other_hit).sum()), int((other_hit & ~hit).sum())
    p, q = (only_plain + 1) / (n + 2), (only_flips + 1) / (n + 2)
    half = 1.96 * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    measured, middle = (only_plain - only_flips) / n, p - q
    return Gap(100 * measured, 100 * (middle - half), 100 * (middle + half), n, verdicts[0].step)


def answers(verdict: Validation) -> np.ndarray:
    return np.frombuffer(verdict.predictions.encode(), np.uint8) - ord("0")


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
        return f"Flipping {DATASETS[dataset].thing}s hurts: the twin without flips is ahead by {measured}."
    return f"Flipping helps here: the twin with flips is ahead. The gap is {measured}."


def per_class(verdict: Validation) -> np.ndarray:
    """Accuracy on each class, in percent."""
    confusion = np.array(verdict.confusion)
    return 100 * np.diag(confusion) / np.maximum(1, confusion.sum(1))


# What flips mix up


@dataclass(frozen=True)
class Mixup:
    """Two classes that are taken for one another, and how often by each twin."""

    one: int
    other: int
    plain: int
    flips: int


def grown_mixups(verdicts: Verdicts, most: int = 3) -> list[Mixup]:
    """The pairs of classes that flipping mixes up most, worst first."""
    ours, theirs = (np.array(verdict.confusion) for verdict in verdicts)
    ours, theirs = ours + ours.T, theirs + theirs.T
    pairs = [Mixup(i, j, int(ours[i, j]), int(theirs[i, j]))
             for i in range(len(ours)) for j in range(i + 1, len(ours))]
    pairs.sort(key=lambda pair: pair.plain - pair.flips)
    return [pair for pair in pairs[:most] if pair.flips > pair.plain]


def misread(verdicts: Verdicts, labels: np.ndarray, mixups: Sequence[Mixup], most: int = 6) -> list[int]:
    """Images that only the twin with flips gets wrong: the mix-ups take turns, the most grown first."""
    ours, theirs = map(answers, verdicts)
    wrong = np.flatnonzero((ours == labels) & (theirs != labels))
    examples = [
        [int(i) for i in wrong if {int(labels[i]), int(theirs[i])} == {pair.one, pair.other}] for pair in mixups
    ]
    turns = [i for turn in zip_longest(*examples) for i in turn if i is not None]
    return turns[:most]


# How far and how fast


@dataclass(frozen=True)
class Pace:
    step: int
    images_per_second: float
    seconds_left: float
    seconds: float


def pace(reports: list[Report], steps: int) -> Pace | None:
    """How fast the run is by its last reports, and how long the rest will take."""
    recent = of_kind(reports, StepReport)[-RECENT:]
    if not recent:
        return None
    last = recent[-1]
    first_step, first_seconds = (recent[0].step, recent[0].seconds) if len(recent) > 1 else (0, 0.0)
    per_step = (last.seconds - first_seconds) / max(1, last.step - first_step)
    return Pace(last.step, last.images_per_second, (steps - last.step) * per_step, last.seconds)


def epochs_done(reports: list[Report]) -> int:
    return int(max((report.epoch for report in reports if isinstance(report, StepReport | Validation)), default=0))


def verdict_after(reports: list[Report], epoch: int) -> Validation | None:
    """The validation that the checkpoint of an epoch was kept with."""
    for verdict in reversed(of_kind(reports, Validation)):
        if (verdict.whole or verdict.step == 0) and round(verdict.epoch) == epoch:
            return verdict
    return None


# In what they differ


def what_changed(now: TrainConfig, before: TrainConfig) -> str:
    """The settings that differ, in words; flips are left out, since twins have both."""
    return ", ".join(change_in_words(*change) for change in changes(now, before)) or "nothing: the same run again"


def changes(now: TrainConfig, before: TrainConfig) -> list[tuple[str, object, object]]:
    """Name, old value and new value of each setting that differs, the model's after the others."""
    found = []
    for part, old_part in ((now, before), (now.model, before.model)):
        for field in fields(part):
            old, new = getattr(old_part, field.name), getattr(part, field.name)
            if field.name not in ("model", "flips") and old != new:
                found.append((field.name, old, new))
    return found


def change_in_words(name: str, old: object, new: object) -> str:
    without = {"train_images": "all", "stop_patience": "never"}.get(name, "none")
    return f"{name.replace('_', ' ')} {_in_words(old, without)} → {_in_words(new, without)}"


def _in_words(value: object, without: str) -> str:
    if value is None:
        return without
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
