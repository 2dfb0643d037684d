"""What a worker does with one run folder: train it, keep what happens, and do what the control file asks."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from vit import checkpoints, data, runs
from vit.checkpoints import BadCheckpoint
from vit.config import CHECKPOINTS_KEPT
from vit.data import DataUnavailable
from vit.datasets import DATASETS
from vit.files import NO_ROOM, why, write_atomically
from vit.reports import End, Note, Report, StepReport, Validating, Validation, at, to_line
from vit.runs import ShownBatch
from vit.training import Diverged, Training, load_examples, pick_device, train

SAVE_EVERY = 5  # seconds; less often where saving takes long
SHOW_BATCH_EVERY = 0.4
LISTEN_EVERY = 0.05
TELL_OF_DOWNLOAD_EVERY = 0.5
IDLE_WHEN_PAUSED = 60  # then a pausing worker makes room
BATCH_SHOWN = 32
A_LITTLE = 65_536  # bytes: not worth counting all runs for
NO_MORE_ROOM = "The runs here take all the room that they may. Delete old ones, and resume: nothing is lost."
BEFORE_IT_BEGAN = {"stop": "stopped", "pause": "paused"}
RESERVE = 32_768  # bytes set aside, so that even on a full disk the status can be told


class Leave(Exception):
    """Ends the run in good order, with the state that the folder shall tell."""

    def __init__(self, state: str, reason: str = ""):
        super().__init__(reason)
        self.state, self.reason = state, reason


class Worker:
    def __init__(self, folder: Path, heartbeat: Path | None = None,
                 tell: Callable[[Report, Training], None] | None = None):
        self.run = runs.read_run(folder)
        self.folder = folder
        self.server = Server(heartbeat) if heartbeat else None
        self.tell = tell
        self.asked_to_end = False
        self.window = Window()
        self.seconds = 0.0
        self._clock = self._saved_at = self._listened_at = time.monotonic()
        self._showed_at = -math.inf  # the first batch is shown at once
        self._saving_took = 0.0

    def work(self) -> int:
        """Train until the end or until asked to stop, leave word in status.json; returns the exit code."""
        reserve = self.folder / ".reserve"
        try:
            reserve.write_bytes(os.urandom(RESERVE))
            command = runs.read_control(self.folder)
            if command in BEFORE_IT_BEGAN:
                raise Leave(BEFORE_IT_BEGAN[command])
            self._say("running")
            self._train()
        except Leave as leave:
            self._say(leave.state, leave.reason)
            return 0
        except Exception as error:
            reserve.unlink(missing_ok=True)
            self._say("failed", in_a_sentence(error))
            if not isinstance(error, (Diverged, DataUnavailable, BadCheckpoint, OSError)):
                raise
            return 1
        finally:
            reserve.unlink(missing_ok=True)
        return 0

    def _say(self, state: str, reason: str = "") -> None:
        runs.write_status(self.folder, state, reason, self.server.name if self.server else "")

    def _train(self) -> None:
        torch.set_num_threads(self.run.threads)
        config = self.run.config
        if data.needs_download(config.dataset):
            self._download(config.dataset)
        self.training = Training(config, load_examples(config), pick_device())
        self._restore()
        with (self.folder / "metrics.jsonl").open("ab") as self.metrics:
            self._keep_what_is_missing()
            self._clock = time.monotonic()
            for report in train(config, training=self.training):
                self._tick()
                self._keep(report)
                self._listen(at_once=isinstance(report, Validation))

    def _download(self, dataset: str) -> None:
        told_at = 0.0

        def tell(received: int, expected: int | None) -> None:
            nonlocal told_at
            if time.monotonic() - told_at > TELL_OF_DOWNLOAD_EVERY:
                told_at = time.monotonic()
                title, all_of_it = DATASETS[dataset].title, f" of {expected / 1e6:,.1f}" if expected else ""
                self._say("running", f"{title} is being downloaded: {received / 1e6:,.1f}{all_of_it} MB")

        data.download(dataset, tell)
        self._say("running")

    # Writing what happens

    def _tick(self) -> None:
        now = time.monotonic()
        self.seconds += now - self._clock
        self._clock = now

    def _keep(self, report: Report | Validating) -> None:
        if isinstance(report, StepReport):
            self.window.add(report)
            if report.step % self.run.config.report_every == 0:
                self._write(self.window.mean(report, self.seconds, self.run.config.batch_size))
                self.window = Window(since=self.seconds)
            if time.monotonic() - self._showed_at > SHOW_BATCH_EVERY:
                self._show_batch()
        elif isinstance(report, Validation):
            self._write(at(report, self.seconds))
            if report.whole or report.step == 0:
                self._keep_checkpoint(report)
        elif isinstance(report, Note):
            self._write(at(report, self.seconds))
        elif isinstance(report, End):
            self._write(at(report, self.seconds))
            self._save_state()
            raise Leave("done", report.reason)

    def _write(self, report: Report) -> None:
        self.metrics.write(to_line(report))
        self.metrics.flush()
        if self.tell:
            self.tell(report, self.training)

    def _show_batch(self) -> None:
        if batch := self.training.batch:
            shown = slice(BATCH_SHOWN)
            step = self.training.progress.step
            runs.write_batch(self.folder, ShownBatch(step, batch.images[shown], batch.mirrored[shown]))
            self._showed_at = time.monotonic()

    def _keep_checkpoint(self, report: Validation) -> None:
        config, epoch = self.run.config, round(report.epoch)
        if not self._has_room(config.checkpoint_size + config.state_size - self._state_takes()):
            if report.step:
                self._save_state()  # for which there is room: nothing of what was learned is lost
            raise Leave("failed", NO_MORE_ROOM)
        details = {"run": self.run.id, "epoch": epoch, "step": report.step, "flips": config.mirrors,
                   "dataset": config.dataset, "validation_accuracy": report.accuracy,
                   "mirrored_accuracy": report.mirrored_accuracy}
        folder = self.folder / "checkpoints"
        checkpoints.save(self.training.model, folder / f"epoch-{epoch:04d}.safetensors", details)
        kept = sorted(folder.glob("epoch-*.safetensors"))
        if len(kept) > CHECKPOINTS_KEPT:
            for path in kept[1:-1:2]:  # every second one goes, never the first or the last
                path.unlink()

    def _keep_what_is_missing(self) -> None:
        """The weights that there was no room for when the run ended."""
        verdict = runs.last_verdict(self.folder)
        if verdict and verdict.whole and verdict.step == self.training.progress.step:
            stems = runs.read_run(self.folder).checkpoints
            if f"epoch-{round(verdict.epoch):04d}" not in stems:
                self._keep_checkpoint(verdict)

    def _save_state(self) -> None:
        start = time.monotonic()
        os.fsync(self.metrics.fileno())
        tensors, header = self.training.snapshot()
        header["worker"] = {"metrics_bytes": self.metrics.tell(), "seconds": self.seconds,
                            "window": vars(self.window)}
        if not self._has_room(self.run.config.state_size - self._state_takes()):
            raise Leave("failed", NO_MORE_ROOM)
        checkpoints.write_tensors(self.folder / "state.safetensors", tensors, header)
        self._saved_at = time.monotonic()
        self._saving_took = self._saved_at - start

    def _state_takes(self) -> int:
        state = self.folder / "state.safetensors"
        return state.stat().st_size if state.exists() else 0

    def _has_room(self, more: int) -> bool:
        """May the runs on this server take so many bytes more? A run that lies elsewhere is its owner's affair."""
        root = runs.root().resolve()
        if more <= A_LITTLE or self.folder.resolve().parent != root:
            return True
        return runs.disk_used(root) + more <= runs.disk_limit()

    def _restore(self) -> None:
        state, metrics = self.folder / "state.safetensors", self.folder / "metrics.jsonl"
        length = 0
        if state.exists():
            tensors, header = checkpoints.read_tensors(state)
            try:
                self.training.restore(tensors, header)
                length = header["worker"]["metrics_bytes"]
                self.seconds = header["worker"]["seconds"]
                self.window = Window(**header["worker"]["window"])
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                raise BadCheckpoint(f"state.safetensors does not fit this run: {error}") from error
        # What came after the state was saved is about to be computed again. A new file tells readers.
        known = metrics.read_bytes()[:length] if metrics.exists() else b""
        write_atomically(metrics, known)

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
            self._say("paused")
            self._idle()
            self._say("running")
            self._clock = time.monotonic()
        elif command == "stop":
            self._say("stopping")
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

    def add(self, report: StepReport) -> None:
        self.steps += 1
        self.loss += report.loss
        self.accuracy += report.accuracy

    def mean(self, last: StepReport, seconds: float, batch_size: int) -> StepReport:
        speed = self.steps * batch_size / max(seconds - self.since, 1e-6)
        return at(replace(last, loss=self.loss / self.steps, accuracy=self.accuracy / self.steps,
                          images_per_second=round(speed, 1)), seconds)


class Server:
    """Tells whether the server that started this worker is still there."""

    def __init__(self, heartbeat: Path):
        self.heartbeat = heartbeat
        self.name = heartbeat.name
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


def in_a_sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        full = "The disk is full. Make room, perhaps by deleting old runs, and resume: little is lost."
        return full if error.errno in NO_ROOM else why(error)
    return str(error) or type(error).__name__
