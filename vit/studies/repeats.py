"""The same comparison with several seeds: what a visitor repeats, and what was recorded for a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vit.config import TrainConfig
from vit.numbers import with_sign
from vit.studies import results
from vit.studies.catalogue import CATALOGUE
from vit.studies.questions import Question, called
from vit.studies.results import RunResult
from vit.studies.statistics import Estimate, estimate, paired_differences
from vit.studies.study import Setting, Study

Curve = list[tuple[float, float]]  # step and accuracy in percent

BY_CLASS = ("accuracy by class, as they are", "accuracy by class, mirrored")  # a reading of vit/studies/readings.py


@dataclass(frozen=True)
class Repeats:
    """Final accuracies of two arms, in percent, by seed."""

    names: tuple[str, str]
    first: Mapping[int, float]
    second: Mapping[int, float]

    @property
    def differences(self) -> dict[int, float]:
        """By how many points the first is ahead, for each seed that both have."""
        return paired_differences(self.first, self.second)

    @property
    def found(self) -> Estimate:
        return estimate(list(self.differences.values()))

    def in_words(self) -> str:
        """Who is ahead on average, and whether that may be luck."""
        found = self.found
        if not found.n:
            return "No pair has come to its end yet."
        ahead = self.names[found.mean < 0]
        by = f"{called(ahead)} is ahead by {with_sign(abs(found.mean), 1)} points"
        if abs(found.mean) < 0.05:
            by = "neither twin is ahead"
        if not found.certain:
            return f"With one seed {by}. One pair is no sample: others may come out otherwise."
        low, high = sorted(abs(end) for end in (found.low, found.high))
        if found.low > 0 or found.high < 0:
            return (f"Over {found.n} seeds {by} on average (95 % sure: between {with_sign(low, 1)} and "
                    f"{with_sign(high, 1)}). That is not luck.")
        return (f"Over {found.n} seeds {by} on average, but the interval from {with_sign(found.low, 1)} to "
                f"{with_sign(found.high, 1)} takes in 0: it may be luck. An effect of {found.visible:.1f} points would "
                "have shown in 8 of 10 cases.")


# What mirrors do


@dataclass(frozen=True)
class Mirrors:
    """Accuracy by class, in percent: of the arm that never saw a mirror image, and of the one that did."""

    plain: Sequence[float]
    plain_mirrored: Sequence[float]
    flips: Sequence[float]
    flips_mirrored: Sequence[float]

    @property
    def lost(self) -> list[float]:
        """Points that flips cost each class."""
        return [ours - theirs for ours, theirs in zip(self.plain, self.flips, strict=True)]

    @property
    def same(self) -> list[int]:
        """The classes whose mirror images are still read by who never saw one, more often than not."""
        return [number for number, share in enumerate(self.plain_mirrored) if share > 50]

    def in_words(self, classes: Sequence[str]) -> str:
        """Why some classes hardly lose, by what was measured."""
        same, others = self.same, [number for number in range(len(classes)) if number not in self.same]
        if not same or not others:
            return ("Who never saw a mirror image reads "
                    f"{np.mean(self.plain_mirrored):.0f} % of them as what they are, and no class stands out.")
        read, rest = (float(np.mean([self.plain_mirrored[i] for i in some])) for some in (same, others))
        lost, lost_rest = (-float(np.mean([self.lost[i] for i in some])) for some in (same, others))
        are, they = ("is", "it changes") if len(same) == 1 else ("are", "they change")
        return (f"Mirrored, {listed([classes[i] for i in same])} {are} still the same: who never saw a mirror image "
                f"reads {read:.0f} % of theirs rightly, and {rest:.0f} % of the others'. With flips {they} by "
                f"{with_sign(lost, 1)} points on average, the others by {with_sign(lost_rest, 1)}.")


def listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


# What was recorded


@dataclass(frozen=True)
class Record:
    """What a study found for a question, in one of its settings."""

    title: str  # of the study
    setting: Setting
    repeats: Repeats
    curves: tuple[Curve, Curve]  # accuracy on validation images, the mean of all seeds
    by_class: tuple[list[float], list[float]]
    mirrors: Mirrors | None


def record_of(question: Question) -> Record:
    """In the first setting that has these arms. Raises BadStudy with a sentence if nothing can be shown."""
    study = CATALOGUE.get(question.study)
    if not isinstance(study, Study):
        raise results.BadStudy("Nothing was recorded for this question: you are the first to ask.")
    result = results.read(study)
    for setting in study.settings:
        arms = [next((one.name for one in study.arms if _plain(one.of(setting.base)) == _plain(config)), "")
                for config in question.arms(setting.base).values()]
        runs = [[run for run in result.runs if run.setting == setting.name and run.arm == arm] for arm in arms]
        if all(runs):
            return _record(study, setting, question, runs)
    raise results.BadStudy("Nothing was recorded for this question: you are the first to ask.")


def _plain(config: TrainConfig) -> TrainConfig:
    """Flips have two names."""
    return replace(config, flips=False, augmentation="flips" if config.flips else config.augmentation)


def _record(study: Study, setting: Setting, question: Question, runs: list[list[RunResult]]) -> Record:
    classes = setting.base.model.classes
    if any(len(row) != classes for some in runs for run in some for row in (run.by_class, *_by_class(run))):
        raise results.BadStudy(f"{study.id}.json cannot be used: {setting.name} has {classes} classes.")
    first, second = ({run.seed: run.measures["accuracy"] for run in some} for some in runs)
    by_class = [_mean([run.by_class for run in some]) for some in runs]
    curves = [_mean_curve(some) for some in runs]
    return Record(study.title, setting, Repeats(question.names, first, second), (curves[0], curves[1]),
                  (by_class[0], by_class[1]), _mirrors(runs) if question.id == "flips" else None)


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [float(value) for value in np.mean(rows, axis=0)]


def _mean_curve(runs: list[RunResult]) -> Curve:
    """At the steps that all of them tell of: one that diverged ends early."""
    by_step = [{step: accuracy for step, _, accuracy in run.validation} for run in runs]
    steps = sorted(set.intersection(*map(set, by_step)))
    return [(step, float(np.mean([found[step] for found in by_step]))) for step in steps]


def _mirrors(runs: list[list[RunResult]]) -> Mirrors | None:
    if not all(len(_by_class(run)) == len(BY_CLASS) for some in runs for run in some):
        return None
    plain, flips = ([_mean([_by_class(run)[number] for run in some]) for number in range(len(BY_CLASS))]
                    for some in runs)
    return Mirrors(plain[0], plain[1], flips[0], flips[1])


def _by_class(run: RunResult) -> list[list[float]]:
    """What was read off its weights, as far as it was."""
    return [row for name in BY_CLASS if isinstance(row := run.readings.get(name), list)]
