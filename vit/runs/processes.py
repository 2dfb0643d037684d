"""Workers as processes of this machine. They need seconds to wake up: while visitors look at the page, two are warm."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import vit.runs.limits as limits
from vit.runs.folder import Run
from vit.runs.places import Ending
from vit.runs.status import PROJECT

WARM_WORKERS = 2


class WorkerProcess:
    """A worker's process, and where it hears which run it is to take."""

    def __init__(self, process: subprocess.Popen[bytes]):
        assert process.stdin is not None  # it is a pipe
        self.process, self.ear = process, process.stdin
        self.folder = Path()

    def tell(self, folder: Path) -> None:
        self.folder = folder
        with contextlib.suppress(BrokenPipeError):  # it died this instant, which the next look will notice
            self.ear.write(f"{folder.resolve()}\n".encode())
            self.ear.close()

    def send_home(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.ear.close()

    @property
    def waits(self) -> bool:
        return self.process.poll() is None and not self.ear.closed

    def ending(self) -> Ending | None:
        code = self.process.poll()
        return None if code is None else Ending(how_it_ended(code, self.folder) if code else "")

    def make_room(self) -> None:
        self.process.send_signal(signal.SIGTERM)


class Processes:
    """The place where runs train unless the environment names another."""

    def __init__(self, heartbeat: Path):
        self.heartbeat = heartbeat
        self.warm: list[WorkerProcess] = []

    def start(self, run: Run) -> WorkerProcess:
        waiting = [worker for worker in self.warm if worker.waits]
        if waiting and run.threads == limits.fair_threads():
            worker = waiting[0]
            self.warm.remove(worker)
        else:
            worker = spawn(run.threads, self.heartbeat)
        worker.tell(run.folder)
        return worker

    def find(self, run: Run) -> None:
        """What another server started ends with that server."""

    def keep_warm(self, expected: bool, busy: int) -> None:
        self.warm = [worker for worker in self.warm if worker.process.poll() is None]
        if not expected:
            for worker in self.warm:
                worker.send_home()
        elif len(self.warm) + busy < min(WARM_WORKERS, limits.max_workers()):
            self.warm.append(spawn(limits.fair_threads(), self.heartbeat))

    def close(self) -> None:
        for worker in self.warm:
            worker.send_home()
            worker.process.wait()


def spawn(threads: int, heartbeat: Path) -> WorkerProcess:
    """A worker that wakes up and then waits for the folder of its run on its standard input."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with (heartbeat.parent / "workers.log").open("ab") as log:
        return WorkerProcess(subprocess.Popen(
            [sys.executable, "-m", "vit.worker", "-", "--heartbeat", heartbeat.resolve()],
            cwd=PROJECT, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
            start_new_session=True,  # Ctrl-C in the server's terminal is not meant for it
        ))


def how_it_ended(code: int, folder: Path) -> str:
    if code < 0:
        name = name_of_signal(-code)
        hint = ", perhaps because memory ran out" if name == "SIGKILL" else ""
        return f"Its worker was killed ({name}{hint}). It can go on from where it last saved."
    try:
        last_words = (folder / "worker.log").read_text(errors="replace").strip().splitlines()[-1][:200]
    except (OSError, IndexError):
        last_words = "no word"
    return f"Its worker ended with an error: {last_words}"


def name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # there are more than have a name
        return f"signal {number}"
