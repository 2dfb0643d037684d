"""A study's arms on this machine: a visitor's own runs, told as recorded ones are.

What is read off weights needs torch, and is left to `python -m vit.studies`.
"""

from collections.abc import Sequence

from vit import runs
from vit.config import TrainConfig
from vit.reports import StepReport, Validation, of_kind
from vit.runs import Run
from vit.runs.folder import LONGEST_WORD
from vit.runs.series import Series, came_to_its_end
from vit.studies.results import Result, RunResult
from vit.studies.running import measures, thinned, times
from vit.studies.study import Setting, Study
from vit.studies.words import count

TRAINING = "still training"


def topic_of(study: Study, setting: Setting) -> str:
    """By which the runs of a setting are found again."""
    return f"{study.id}: {setting.name}"[:LONGEST_WORD]


def arms_of(study: Study, setting: Setting) -> dict[str, TrainConfig]:
    return {arm.name: arm.of(setting.base) for arm in study.arms}


def recorded_seeds(result: Result | None, setting: str) -> list[int]:
    return sorted({run.seed for run in result.runs if run.setting == setting}) if result else []


def seeds_to_try(recorded: Sequence[int], tried: Sequence[int], new: bool, many: int) -> list[int]:
    """Seeds that nobody has tried, or recorded ones: those first that were not tried here yet."""
    if new:
        first = max((*recorded, *tried), default=-1) + 1
        return list(range(first, first + many))
    left = [seed for seed in recorded if seed not in tried]
    return (left or list(recorded))[:many]


# What they tell


def runs_of(setting: str, found: Series) -> list[RunResult]:
    """All that were validated after a step, those that still train as far as they are."""
    return [one for run in found.runs if (one := _told(setting, run))]


def ended(own: Sequence[RunResult]) -> list[RunResult]:
    return [run for run in own if run.ended != TRAINING]


def _told(setting: str, run: Run) -> RunResult | None:
    reports = runs.feed(run.folder).read()
    verdicts = of_kind(reports, Validation)
    if not verdicts or verdicts[-1].step == 0:
        return None
    state = TRAINING if not came_to_its_end(run) else "done" if run.state == "done" else "diverged"
    last = verdicts[-1]
    return RunResult(
        setting, run.role.arm, run.config.seed, state, reports[-1].step, measures(reports), {}, times(reports),
        [100 * row[label] / max(1, sum(row)) for label, row in enumerate(last.confusion)],
        thinned([(verdict.step, verdict.loss, 100 * verdict.accuracy) for verdict in verdicts]),
        thinned([(report.step, report.loss, 100 * report.accuracy) for report in of_kind(reports, StepReport)]),
    )


def share_done(found: Series) -> float:
    """Of all steps that all runs have to take; what has ended, however it did, is done."""
    steps = sum(run.config.steps for run in found.runs) or 1
    return sum(_steps_done(run) for run in found.runs) / steps


def _steps_done(run: Run) -> int:
    if came_to_its_end(run):
        return run.config.steps
    reports = runs.feed(run.folder).read()
    return min(reports[-1].step, run.config.steps) if reports else 0


def repeats(recorded: Sequence[RunResult], own: Sequence[RunResult]) -> str:
    """Whether runs with seeds that are recorded as well come out again; nothing if there are none."""
    theirs = {(run.setting, run.arm, run.seed): run.measures["accuracy"] for run in recorded}
    apart = [abs(run.measures["accuracy"] - theirs[key]) for run in ended(own)
             if (key := (run.setting, run.arm, run.seed)) in theirs]
    if not apart:
        return ""
    same = sum(gap == 0 for gap in apart)
    if same == len(apart):
        return f"{count(same, 'run')} with recorded seeds: every accuracy comes out as recorded, to the last digit."
    return (f"{same} of {len(apart)} accuracies come out as recorded, to the last digit; the others are at most "
            f"{max(apart):.2f} points off.")
