"""Studies become results: every arm, setting and seed is a run folder of the usual kind, with a worker of its own.

What is done stays done: an interrupted study goes on where it was, and a run that diverged is a result like any other.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import median

from vit import runs
from vit.config import TrainConfig
from vit.reports import Report, StepReport, Validation, of_kind
from vit.studies.results import DIGITS, BadStudy, Made, Reading, Result, Row, RunResult, result_of
from vit.studies.study import Study

PROJECT = Path(__file__).parent.parent.parent
POINTS_OF_A_CURVE = 24
LOOK_EVERY = 0.5  # seconds
ENOUGH = 90.0  # percent, that is waited for
LIBRARIES = ("torch", "numpy", "scipy")


@dataclass(frozen=True)
class Planned:
    """One run that a study needs."""

    setting: str
    arm: str
    seed: int
    config: TrainConfig
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.setting}, {self.arm}, seed {self.seed}"

    @property
    def steps(self) -> int:
        return self.config.epochs * math.ceil(self.config.images_per_epoch / self.config.batch_size)

    @property
    def ended(self) -> str | None:
        """How it ended, if it did: done or diverged."""
        status = runs.read_status(self.folder)
        if status.state == "done":
            return "done"
        from vit.training import NO_NUMBER

        return "diverged" if status.state == "failed" and NO_NUMBER in status.reason else None


Launch = Callable[[Path], None]  # trains the run in a folder to its end, or raises
Tell = Callable[[str, float], None]  # what is going on, and how many steps more are done


def plan(study: Study, root: Path, seeds: int | None = None) -> list[Planned]:
    """All runs of a study, seed by seed, so that pairs are complete early."""
    most = max(seeds or setting.seeds for setting in study.settings)
    return [
        planned_run(setting.name, arm.name, replace(arm.of(setting.base), seed=seed), root)
        for seed in range(most) for setting in study.settings if seed < (seeds or setting.seeds) for arm in study.arms
    ]


def planned_run(setting: str, arm: str, config: TrainConfig, root: Path) -> Planned:
    """Its folder is named after all its settings, so that studies that ask for the same run share it."""
    settings = hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode()).hexdigest()[:12]
    return Planned(setting, arm, config.seed, config, root / f"{config.dataset}-seed-{config.seed}-{settings}")


def run(study: Study, root: Path, workers: int = 1, seeds: int | None = None, launch: Launch | None = None,
        tell: Tell = lambda what, steps: None) -> Result:
    """Train what is missing, then read all runs. Raises BadStudy in a sentence if a run cannot be had."""
    planned = plan(study, root, seeds)
    for one in planned:
        prepare(one)
    missing = [one for one in planned if not one.ended]
    for one in planned:
        if one not in missing:
            tell(one.name, one.steps)
    with watched(missing, tell), ThreadPoolExecutor(1 if study.alone else max(1, workers)) as pool:
        waiting = [pool.submit(launch or in_a_process, one.folder) for one in missing]
        try:
            for future in waiting:
                future.result()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
    return result_of(study, [read_run(study, one) for one in planned], made(seconds_of(planned)))


def prepare(planned: Planned) -> None:
    """A folder for a run, or the one that is there, if it is of this run."""
    if not (planned.folder / "config.json").exists():
        runs.create(planned.config, pair_id=planned.folder.name, folder=planned.folder, threads=1)
        return
    try:
        there = runs.read_run(planned.folder).config
    except runs.Unreadable as error:
        raise BadStudy(f"The folder {planned.folder.name} cannot be used. {error}") from error
    if there != planned.config:
        raise BadStudy(f"The folder {planned.folder.name} holds a run with other settings than its name says: "
                       "move it away, and start again.")


def in_a_process(folder: Path) -> None:
    """A worker with one thread. Ctrl-C reaches it as well: it saves, and goes on another time."""
    command = [sys.executable, "-m", "vit.worker", str(folder.resolve())]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with (folder / "worker.log").open("ab") as log:
        subprocess.run(command, cwd=PROJECT, env=environment, stdout=log, stderr=log, check=False)


@contextmanager
def watched(planned: list[Planned], tell: Tell) -> Iterator[None]:
    """Tell of progress while runs train, from what they write."""
    done = threading.Event()
    told = {one.folder: 0 for one in planned}

    def look() -> None:
        for one in planned:
            steps = of_kind(runs.feed(one.folder).read(), StepReport) if told[one.folder] < one.steps else []
            if steps and steps[-1].step > told[one.folder]:
                tell(one.name, steps[-1].step - told[one.folder])
                told[one.folder] = steps[-1].step

    def keep_looking() -> None:
        while not done.wait(LOOK_EVERY):
            look()

    watcher = threading.Thread(target=keep_looking, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        look()


# What a run has to say


def read_run(study: Study, planned: Planned) -> RunResult:
    ended = planned.ended
    if ended is None:
        status = runs.read_status(planned.folder)
        said = f"The run {planned.folder.name} ({planned.name}) is not done: {status.state}. {status.reason}".strip()
        raise BadStudy(f"{said} The same command goes on from here.")
    reports = runs.Feed(planned.folder).read()
    verdicts = of_kind(reports, Validation)
    if not verdicts:
        raise BadStudy(f"The run {planned.folder.name} holds no validation: delete its folder, and start again.")
    last = verdicts[-1]
    return RunResult(
        planned.setting, planned.arm, planned.seed, ended, reports[-1].step, measures(reports),
        readings(study, planned), times(reports),
        [round(100 * row[label] / max(1, sum(row)), 2) for label, row in enumerate(last.confusion)],
        thinned([(verdict.step, verdict.loss, 100 * verdict.accuracy) for verdict in verdicts]),
        thinned([(report.step, report.loss, 100 * report.accuracy) for report in of_kind(reports, StepReport)]),
    )


def measures(reports: list[Report]) -> dict[str, float]:
    """In percent and points; of a run that diverged, those of its last validation."""
    verdicts, steps = of_kind(reports, Validation), of_kind(reports, StepReport)
    last = verdicts[-1]
    whole = [verdict for verdict in verdicts if verdict.whole and verdict.train_accuracy is not None]
    training = whole[-1].train_accuracy if whole else steps[-1].accuracy if steps else 0.0
    good_enough = [verdict.epoch for verdict in verdicts if 100 * verdict.accuracy >= ENOUGH]
    found = {
        "accuracy": 100 * last.accuracy,
        "best accuracy": 100 * max(verdict.accuracy for verdict in verdicts),
        "validation loss": last.loss,
        "training accuracy": 100 * (training or 0.0),
        "gap": 100 * ((training or 0.0) - last.accuracy),
        f"epochs to {ENOUGH:g} %": good_enough[0] if good_enough else last.epoch,
        f"reached {ENOUGH:g} %": float(bool(good_enough)),
    }
    for verdict in whole:
        if round(verdict.epoch) <= 2:
            found[f"training accuracy of epoch {round(verdict.epoch)}"] = 100 * (verdict.train_accuracy or 0.0)
            found[f"accuracy after epoch {round(verdict.epoch)}"] = 100 * verdict.accuracy
    mirrored = [verdict.mirrored_accuracy for verdict in verdicts if verdict.mirrored_accuracy is not None]
    if mirrored:
        found["accuracy on mirror images"] = 100 * mirrored[-1]
    return {name: round(value, DIGITS) for name, value in found.items()}


def times(reports: list[Report]) -> dict[str, float]:
    """In seconds: of all, of the first epoch with what had to be prepared, of each that followed, of an image."""
    found = {"seconds": reports[-1].seconds}
    ends = [verdict.seconds for verdict in of_kind(reports, Validation) if verdict.whole]
    if len(ends) > 1:
        an_epoch = median(later - earlier for earlier, later in pairwise(ends))
        found |= {"seconds of the first epoch": ends[0], "seconds an epoch": an_epoch}
    speeds = [report.images_per_second for report in of_kind(reports, StepReport) if report.epoch > 1]
    if speeds:
        an_image = 1 / max(median(speeds), 1e-6)  # of training alone, without validation
        found |= {"seconds an image": an_image, "log2 of seconds an image": math.log2(an_image)}
    return {name: round(value, DIGITS) for name, value in found.items()}


def readings(study: Study, planned: Planned) -> dict[str, Reading]:
    if not study.readings:
        return {}
    from vit.studies.readings import READINGS

    weights = runs.read_run(planned.folder).checkpoints[-1]
    found: dict[str, Reading] = {}
    for name in study.readings:
        found |= READINGS[name](planned.config, planned.folder / "checkpoints" / f"{weights}.safetensors")
    return {name: [round(number, DIGITS) for number in value] if isinstance(value, list) else round(value, DIGITS)
            for name, value in found.items()}


def thinned(rows: list[Row]) -> list[Row]:
    """A curve with few points, the last of them its last, written short."""
    stride = math.ceil(len(rows) / POINTS_OF_A_CURVE) or 1
    kept = rows[::-1][::stride][::-1]
    return [(step, float(f"{loss:.4g}"), round(accuracy, 2)) for step, loss, accuracy in kept]


# How it came about


def made(seconds: float) -> Made:
    versions = {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
    return Made(versions, processor(), os.cpu_count() or 1, round(seconds, 1), commit())


def seconds_of(planned: list[Planned]) -> float:
    return sum(times(reports)["seconds"] for one in planned if (reports := runs.Feed(one.folder).read()))


def processor() -> str:
    """Its name, as far as the system tells."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


def commit() -> str:
    """What the code was, with a mark if it was changed since."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=True)
        state = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=PROJECT,
                               capture_output=True, text=True, check=True)
        return head.stdout.strip() + (" and changes" if state.stdout.strip() else "")
    return "unknown"
