"""One training run in its own process: `python -m vit.worker RUN_FOLDER`.

A folder that holds a run goes on where it was; a new one is made with --preset, and --set changes what the
preset says:  python -m vit.worker runs/long --preset article --flips --set epochs=20
Ctrl-C saves, and the same command goes on.
"""

import argparse
import contextlib
import ctypes
import errno
import io
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch

from vit import checkpoints, data, runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.data import DataUnavailable
from vit.datasets import DATASETS
from vit.training import Diverged, Training, load_examples, pick_device, train

SAVE_EVERY = 5  # seconds; less often where saving takes long
SHOW_BATCH_EVERY = 0.4
LISTEN_EVERY = 0.05
TELL_OF_DOWNLOAD_EVERY = 0.5
IDLE_WHEN_PAUSED = 60  # then a pausing worker makes room
CHECKPOINTS_KEPT = 20
BATCH_SHOWN = 32
RESERVE = 32_768  # bytes set aside, so that even on a full disk the status can be told


class Leave(Exception):
    """Ends the run in good order, with the state that the folder shall tell."""

    def __init__(self, state: str, reason: str = ""):
        super().__init__(reason)
        self.state, self.reason = state, reason


class Worker:
    def __init__(self, folder: Path, heartbeat: Path | None = None, progress: bool = False):
        self.run = runs.read_run(folder)
        self.folder = folder
        self.server = Server(heartbeat) if heartbeat else None
        self.progress_line = ProgressLine() if progress else None
        self.asked_to_end = False
        self.window = Window()
        self.seconds = 0.0
        self._clock = self._saved_at = self._showed_at = self._listened_at = time.monotonic()
        self._saving_took = 0.0

    def work(self) -> int:
        """Train until the end or until asked to stop, leave word in status.json; returns the exit code."""
        reserve = self.folder / ".reserve"
        try:
            reserve.write_bytes(os.urandom(RESERVE))
            if runs.read_control(self.folder) == "stop":
                raise Leave("stopped")
            runs.write_status(self.folder, "running")
            self._train()
        except Leave as leave:
            runs.write_status(self.folder, leave.state, leave.reason)
            return 0
        except Exception as error:
            reserve.unlink(missing_ok=True)
            runs.write_status(self.folder, "failed", in_a_sentence(error))
            if not isinstance(error, (Diverged, DataUnavailable, OSError)):
                raise
            return 1
        finally:
            reserve.unlink(missing_ok=True)
            if self.progress_line:
                self.progress_line.close()
        return 0

    def _train(self) -> None:
        torch.set_num_threads(self.run.threads)
        config = self.run.config
        if data.needs_download(config.dataset):
            self._download(config.dataset)
        self.training = Training(config, load_examples(config), pick_device())
        self._restore()
        with (self.folder / "metrics.jsonl").open("ab") as self.metrics:
            self._clock = time.monotonic()
            for report in train(config, training=self.training):
                self._tick()
                self._keep(report)
                self._listen(at_once=report["kind"] == "validation")

    def _download(self, dataset: str) -> None:
        told_at = 0.0

        def tell(received: int, expected: int | None) -> None:
            nonlocal told_at
            if time.monotonic() - told_at > TELL_OF_DOWNLOAD_EVERY:
                told_at = time.monotonic()
                all_of_it = f" of {expected / 1e6:,.1f}" if expected else ""
                runs.write_status(self.folder, "running",
                                  f"{DATASETS[dataset].title} is being downloaded: {received / 1e6:,.1f}{all_of_it} MB")

        data.download(dataset, tell)
        runs.write_status(self.folder, "running")

    # Writing what happens

    def _tick(self) -> None:
        now = time.monotonic()
        self.seconds += now - self._clock
        self._clock = now

    def _keep(self, report: dict) -> None:
        kind = report["kind"]
        if kind == "train":
            self.window.add(report)
            if report["step"] % self.run.config.report_every == 0:
                self._write(self.window.line(report, self.seconds, self.run.config.batch_size))
                self.window = Window(since=self.seconds)
            if time.monotonic() - self._showed_at > SHOW_BATCH_EVERY:
                self._show_batch()
        elif kind in ("validation", "note"):
            self._write(report | {"seconds": round(self.seconds, 3)})
        if report.get("whole") or (kind == "validation" and report["step"] == 0):
            self._keep_checkpoint(report)
        if kind == "end":
            self._write(report | {"seconds": round(self.seconds, 3)})
            self._save_state()
            raise Leave("done", report["reason"])

    def _write(self, line: dict) -> None:
        self.metrics.write(json.dumps(line).encode() + b"\n")
        self.metrics.flush()
        if self.progress_line:
            self.progress_line.show(line, self.training.steps)

    def _show_batch(self) -> None:
        batch = self.training.batch
        content = io.BytesIO()
        np.savez(content, step=self.training.progress.step, images=batch.images[:BATCH_SHOWN],
                 mirrored=batch.mirrored[:BATCH_SHOWN])
        fresh = self.folder / ".batch.npz"
        fresh.write_bytes(content.getvalue())
        os.replace(fresh, self.folder / "batch.npz")
        self._showed_at = time.monotonic()

    def _keep_checkpoint(self, report: dict) -> None:
        epoch = round(report["epoch"])
        story = {"run": self.run.id, "epoch": epoch, "step": report["step"], "flips": self.run.config.flips,
                 "dataset": self.run.config.dataset, "validation_accuracy": report["accuracy"]}
        folder = self.folder / "checkpoints"
        checkpoints.save(self.training.model, folder / f"epoch-{epoch:04d}.safetensors", story)
        kept = sorted(folder.glob("epoch-*.safetensors"))
        if len(kept) > CHECKPOINTS_KEPT:
            for path in kept[1:-1:2]:  # every second one goes, never the first or the last
                path.unlink()

    def _save_state(self) -> None:
        start = time.monotonic()
        os.fsync(self.metrics.fileno())
        tensors, header = self.training.snapshot()
        header["worker"] = {"metrics_bytes": self.metrics.tell(), "seconds": self.seconds,
                            "window": vars(self.window)}
        checkpoints.write_tensors(self.folder / "state.safetensors", tensors, header)
        self._saved_at = time.monotonic()
        self._saving_took = self._saved_at - start

    def _restore(self) -> None:
        state, metrics = self.folder / "state.safetensors", self.folder / "metrics.jsonl"
        length = 0
        if state.exists():
            tensors, header = checkpoints.read_tensors(state)
            self.training.restore(tensors, header)
            length = header["worker"]["metrics_bytes"]
            self.seconds = header["worker"]["seconds"]
            self.window = Window(**header["worker"]["window"])
        # What came after the state was saved is about to be computed again. A new file tells readers.
        known = metrics.read_bytes()[:length] if metrics.exists() else b""
        checkpoints.write_atomically(metrics, known)

    # Doing what is asked

    def _listen(self, at_once: bool) -> None:
        now = time.monotonic()
        if at_once or now - self._listened_at >= LISTEN_EVERY:
            self._listened_at = now
            self._obey()
            if now - self._saved_at > max(SAVE_EVERY, 30 * self._saving_took):
                self._save_state()

    def _obey(self) -> None:
        command = self._command()
        if command == "pause":
            runs.write_control(self.folder, "pause")  # "until epoch 3" is done once it is reached
            self._save_state()
            runs.write_status(self.folder, "paused")
            self._idle()
            runs.write_status(self.folder, "running")
            self._clock = time.monotonic()
        elif command == "stop":
            runs.write_status(self.folder, "stopping")
            self._save_state()
            raise Leave("stopped")
        elif self.asked_to_end or (self.server and self.server.is_gone()):
            self._save_state()
            raise Leave("interrupted", "It was asked to end, and has saved." if self.asked_to_end else
                        "The server ended, and the run with it. It can go on from here.")

    def _command(self) -> str:
        """What the control file wants now: run, pause or stop."""
        command = runs.read_control(self.folder)
        if command.startswith("until "):
            training = self.training
            epochs = training.progress.step // training.steps_per_epoch
            arrived = epochs >= int(command.removeprefix("until ")) and not training.validation_due()
            return "pause" if arrived and not training.progress.ended else "run"
        return command

    def _idle(self) -> None:
        paused_at = time.monotonic()
        while (command := self._command()) == "pause":
            bored = time.monotonic() - paused_at > IDLE_WHEN_PAUSED
            if bored or self.asked_to_end or (self.server and self.server.is_gone()):
                raise Leave("paused")
            time.sleep(LISTEN_EVERY)
        if command == "stop":
            raise Leave("stopped")


@dataclass
class Window:
    """The mean of the steps since the last line in metrics.jsonl."""

    since: float = 0.0
    steps: int = 0
    loss: float = 0.0
    accuracy: float = 0.0

    def add(self, report: dict) -> None:
        self.steps += 1
        self.loss += report["loss"]
        self.accuracy += report["accuracy"]

    def line(self, report: dict, seconds: float, batch_size: int) -> dict:
        return report | {
            "loss": self.loss / self.steps, "accuracy": self.accuracy / self.steps,
            "seconds": round(seconds, 3),
            "images_per_second": round(self.steps * batch_size / max(seconds - self.since, 1e-6), 1),
        }


class Server:
    """Tells whether the server that started this worker is still there."""

    def __init__(self, heartbeat: Path):
        self.heartbeat = heartbeat
        self.parent = os.getppid()
        self._last = (self._beat(), time.monotonic())

    def _beat(self) -> float:
        try:
            return self.heartbeat.stat().st_mtime
        except OSError:
            return -1.0

    def is_gone(self) -> bool:
        # Counted on our own clock: after the lid of a laptop was closed the server is as old as we are.
        beat, now = self._beat(), time.monotonic()
        if beat != self._last[0]:
            self._last = (beat, now)
        silent = now - self._last[1] > runs.SERVER_GONE_AFTER
        return silent or beat < 0 or os.getppid() != self.parent


class ProgressLine:
    """One line in the terminal that tells how far the run is."""

    def __init__(self):
        self.validation = ""
        self.start: tuple[int, float] | None = None

    def show(self, line: dict, steps: int) -> None:
        if line["kind"] == "validation":
            self.validation = f"validation {line['accuracy']:.2%}  "
        elif line["kind"] == "train":
            self.start = self.start or (line["step"], time.monotonic())
            done, spent = line["step"] - self.start[0], time.monotonic() - self.start[1]
            left = (steps - line["step"]) * spent / done if done else 0
            bar = "#" * round(24 * line["step"] / steps)
            print(f"\r[{bar:<24}] {line['step'] / steps:4.0%}  epoch {line['epoch']:.2f}  "
                  f"loss {line['loss']:.4f}  {self.validation}{line['images_per_second']:,.0f} images/s  "
                  f"{left / 60:.1f} min left  ", end="", flush=True)
        elif line["kind"] == "note":
            print(line["message"])

    def close(self) -> None:
        print()


def in_a_sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full. Make room, perhaps by deleting old runs, and resume: little is lost."
    return str(error) or type(error).__name__


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
    if not folder.name:
        return None
    with (folder / "worker.log").open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    return folder


def step_back() -> None:
    """Let the server and whoever watches go first: they need little, but at once."""
    with contextlib.suppress(AttributeError, OSError):  # not every system knows these
        os.nice(10)
        Path("/proc/self/autogroup").write_text("10")  # where Linux shares its time among sessions


def keep_memory() -> None:
    """Have the C library keep what a step frees: the next step needs as much, and fresh pages cost their clearing."""
    MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers for these
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other libraries have no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, 2**25)  # its largest
        mallopt(TRIM_THRESHOLD, 2**31 - 1)


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
        folder = wait_for_a_run()
        if folder is None:
            return 0
    else:
        folder = arguments.folder
        try:
            make_if_new(folder, arguments)
        except (TypeError, ValueError) as error:
            parser.error(str(error))
    with runs.locked(folder) as held:
        if not held:
            print("Another worker is busy with this run.", file=sys.stderr)
            return 1
        if not arguments.heartbeat:
            runs.write_control(folder, "run")
        worker = Worker(folder, arguments.heartbeat, progress=not arguments.heartbeat)
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: setattr(worker, "asked_to_end", True))
        code = worker.work()
    if not arguments.heartbeat:
        state, reason, _ = runs.read_status(folder)
        with contextlib.suppress(BrokenPipeError):
            print(f"{state.capitalize()}. {reason}")
    return code


if __name__ == "__main__":
    sys.exit(main())
