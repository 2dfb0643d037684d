"""Runs beside each other, from what they report: who is ahead and how surely, what one of them mixes up, how fast each
is, and in what they differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest

import numpy as np

from vit.config import TrainConfig
from vit.reports import Report, StepReport, Validation, of_kind

RECENT = 30  # reports from which the pace is taken

Verdicts = tuple[Validation, Validation]  # of the first twin and of the second


# Who is ahead


@dataclass(frozen=True)
class Gap:
    """How many points of accuracy the first twin is ahead, with a 95 % interval."""

    points: float
    low: float
    high: float
    images: int
    when: str  # in words

    @property
    def clear(self) -> bool:
        return self.low > 0 or self.high < 0


def latest_verdicts(first: list[Report], second: list[Report]) -> Verdicts | None:
    """The twins' last validation at the same place in their epochs and on as many images, after the first."""
    theirs = {round(report.epoch, 6): report for report in of_kind(second, Validation)}
    for report in reversed(of_kind(first, Validation)):
        other = theirs.get(round(report.epoch, 6))
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
    n, only_first, only_second = len(labels), int((hit & ~other_hit).sum()), int((other_hit & ~hit).sum())
    p, q = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    half = 1.96 * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    measured, middle = (only_first - only_second) / n, p - q
    same = verdicts[0].step == verdicts[1].step
    when = f"after {verdicts[0].step:,} steps" if same else f"after epoch {verdicts[0].epoch:g}"
    return Gap(100 * measured, 100 * (middle - half), 100 * (middle + half), n, when)


def answers(verdict: Validation) -> np.ndarray:
    return np.frombuffer(verdict.predictions.encode(), np.uint8) - ord("0")


def per_class(verdict: Validation) -> np.ndarray:
    """Accuracy on each class, in percent."""
    confusion = np.array(verdict.confusion)
    return 100 * np.diag(confusion) / np.maximum(1, confusion.sum(1))


# What one of them mixes up


@dataclass(frozen=True)
class Mixup:
    """Two classes that are taken for one another, and how often by each twin."""

    one: int
    other: int
    first: int
    second: int


def grown_mixups(verdicts: Verdicts, most: int = 3) -> list[Mixup]:
    """The pairs of classes that the second twin mixes up more than the first, worst first."""
    ours, theirs = (np.array(verdict.confusion) for verdict in verdicts)
    ours, theirs = ours + ours.T, theirs + theirs.T
    pairs = [Mixup(i, j, int(ours[i, j]), int(theirs[i, j]))
             for i in range(len(ours)) for j in range(i + 1, len(ours))]
    pairs.sort(key=lambda pair: pair.first - pair.second)
    return [pair for pair in pairs[:most] if pair.second > pair.first]


def misread(verdicts: Verdicts, labels: np.ndarray, mixups: Sequence[Mixup], most: int = 6) -> list[int]:
    """Images that only the second twin gets wrong: the mix-ups take turns, the most grown first."""
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
    """The settings that differ, in words; flips are left out, which some twins have both with and without."""
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
    return f"{name.replace('_', ' ')} {in_words(name, old)} → {in_words(name, new)}"


def in_words(name: str, value: object) -> str:
    """The value of a setting."""
    if value is None:
        return {"train_images": "all", "stop_patience": "never"}.get(name, "none")
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
