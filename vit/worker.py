"""One training run in its own process: `python -m vit.worker RUN_FOLDER`.

A folder that holds a run goes on where it was; a new one is made with --preset, and --set changes what the
preset says:  python -m vit.worker runs/long --preset article --flips --set epochs=20
Ctrl-C saves, and the same command goes on.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
from dataclasses import fields, replace
from pathlib import Path

from tqdm import tqdm

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.data import DataUnavailable
from vit.files import why
from vit.process import keep_memory, step_back
from vit.reports import Note, Report, StepReport, Validation
from vit.runs.work import Worker
from vit.training import Training, load_examples, pick_device


class ProgressBar:
    """One line in the terminal that tells how far the run is."""

    def __init__(self) -> None:
        self.bar: tqdm | None = None
        self.validation = ""

    def show(self, report: Report, training: Training) -> None:
        batch_size = training.config.batch_size
        if isinstance(report, Validation):
            self.validation = f"validation {report.accuracy:.2%}"
        elif isinstance(report, Note):
            tqdm.write(report.message)
        elif isinstance(report, StepReport):
            if self.bar is None:
                self.bar = tqdm(total=training.steps * batch_size, initial=report.step * batch_size, unit=" images",
                                unit_scale=True, file=sys.stdout)
            self.bar.set_postfix_str(f"epoch {report.epoch:.2f}, loss {report.loss:.4f}, {self.validation}", False)
            self.bar.update(report.step * batch_size - self.bar.n)

    def close(self) -> None:
        if self.bar:
            self.bar.close()


def changed(config: TrainConfig, settings: list[str]) -> TrainConfig:
    """The config with `name=value` settings, where a value is written as in JSON or as a bare word."""
    known = {field.name for field in fields(TrainConfig)} - {"model"}
    changes = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise ValueError(f"There is no setting {name!r}; there are {', '.join(sorted(known))}.")
        try:
            changes[name] = json.loads(value)
        except ValueError:
            changes[name] = value
    return replace(config, **changes)


def make_if_new(folder: Path, arguments: argparse.Namespace) -> None:
    if (folder / "config.json").exists():
        return
    if not arguments.preset:
        raise ValueError(f"{folder} holds no run; make one with --preset.")
    config = replace(changed(TRAINING_PRESETS[arguments.preset], arguments.set), flips=arguments.flips)
    runs.create(config, arguments.preset, pair_id=folder.name, folder=folder, threads=arguments.threads)


def wait_for_a_run() -> Path | None:
    """Wake up fully, then take the folder that the server names; None if it goes without naming one."""
    warm_up()
    folder = Path(sys.stdin.readline().strip())
    return folder if folder.name else None


def tell_the_log(folder: Path) -> None:
    """Nobody sees this process's terminal: what it says goes beside its run."""
    with (folder / "worker.log").open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)


def warm_up() -> None:
    """Do once, before there is a run, what a first step would wait for: data, and what torch loads late."""
    tiny = ViTConfig(patch_size=14, width=4, depth=1, heads=1)
    config = TrainConfig(model=tiny, batch_size=2, train_images=10, validation_images=10)
    with contextlib.suppress(DataUnavailable):  # whoever needs these data will tell
        Training(config, load_examples(config), pick_device()).take_step()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--preset", choices=TRAINING_PRESETS, help="make a new run")
    parser.add_argument("--flips", action="store_true", help="mirror half of the training images")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="change the preset")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for a new run")
    parser.add_argument("--heartbeat", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    keep_memory()
    if arguments.heartbeat:
        step_back()
        folder = wait_for_a_run() if str(arguments.folder) == "-" else arguments.folder
        if folder is None:
            return 0
        tell_the_log(folder)
    else:
        folder = arguments.folder
        try:
            make_if_new(folder, arguments)
        except (TypeError, ValueError) as error:
            parser.error(str(error))
        except OSError as error:
            parser.error(why(error))
    with runs.locked(folder) as held:
        if not held:
            print("Another worker is busy with this run.", file=sys.stderr)
            return 1
        bar = None if arguments.heartbeat else ProgressBar()
        try:
            worker = Worker(folder, arguments.heartbeat, tell=bar.show if bar else None)
        except runs.Unreadable as error:
            print(error, file=sys.stderr)
            return 1
        if not arguments.heartbeat:
            runs.write_control(folder, "run")
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: setattr(worker, "asked_to_end", True))
        try:
            code = worker.work()
        finally:
            if bar:
                bar.close()
    if not arguments.heartbeat:
        status = runs.read_status(folder)
        with contextlib.suppress(BrokenPipeError):
            print(f"{status.state.capitalize()}. {status.reason}")
    return code


if __name__ == "__main__":
    sys.exit(main())
