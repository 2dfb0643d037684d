"""The server's side of training: a thread that starts workers when their turn comes and notices their end.

The queue is in the run folders: those whose state is queued, for this server, the longest waiting first.
A worker needs seconds to wake up before it can take a run: while visitors look at the page, two are warm.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import vit.runs.folder as runs
import vit.runs.limits as limits
from vit.files import why
from vit.runs.asking import owner_of
from vit.runs.deleted import erase_old
from vit.runs.names import pair_of
from vit.runs.pairs import check_queue
from vit.runs.status import PROJECT, heartbeat_of, is_locked, read_status, write_status
from vit.runs.status import root as runs_root

LOOK_EVERY = 0.25  # seconds
LOOK_AT_ALL_EVERY = 5
WARM_WORKERS = 2
WARM_FOR = 300  # seconds after the last visitor came


@dataclass(frozen=True)
class WorkerProcess:
    """A worker's process, and where it hears which run it is to take."""

    process: subprocess.Popen[bytes]
    ear: IO[bytes]

    def tell(self, folder: Path) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died this instant, which the next look will notice
            self.ear.write(f"{folder.resolve()}\n".encode())
            self.ear.close()

    def send_home(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.ear.close()

    @property
    def waits(self) -> bool:
        return self.process.poll() is None and not self.ear.closed


class Dispatcher:
    def __init__(self, root: Path):
        self.root = root
        self.server = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.warm: list[WorkerProcess] = []
        self.problem = ""  # why no run can be started now, as a sentence; empty if all is well
        self.troubles: dict[str, str] = {}  # runs that are left alone until somebody resumes them, and why
        self.heartbeat = heartbeat_of(self.server)
        self._given: dict[str, float] = {}  # since when the run of a child had waited
        self._look_at_all = 0.0
        self._warm_until = 0.0
        self._wake = threading.Event()
        self._stopped = False
        self._attempt()  # the heart beats before the first run is queued
        self._thread = threading.Thread(target=self._work, name="dispatcher", daemon=True)
        self._thread.start()

    def start(self, *run_ids: str) -> None:
        """Begin, or go on: at once where a worker is only pausing, else when the run's turn comes."""
        for run_id in run_ids:
            self._resume(run_id)

    def run_one_epoch(self, run_id: str, epochs_done: int) -> None:
        self._resume(run_id, until_epoch=epochs_done + 1)

    def expect_a_start(self) -> None:
        """A visitor looks at the page: let workers wake up before the button is pressed."""
        self._warm_until = time.monotonic() + WARM_FOR
        self._wake.set()

    def close(self) -> None:
        """Stop looking after workers: they notice, save and end."""
        self._stopped = True
        self._wake.set()
        self._thread.join()
        for worker in self.warm:
            worker.send_home()
            worker.process.wait()
        with contextlib.suppress(OSError):
            self.heartbeat.unlink(missing_ok=True)
        _dispatchers.pop(self.root, None)

    def _resume(self, run_id: str, until_epoch: int | None = None) -> None:
        with _one_at_a_time:  # or many who come at once would all find room in the queue
            if not is_locked(runs.folder_of(run_id)):
                check_queue(owner_of(run_id), but=pair_of(run_id))
            try:
                runs.resume(run_id, self.server, until_epoch)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise limits.RunError(f"The run could not be started. {why(error)}") from error
        self.troubles.pop(run_id, None)
        self._look_at_all = 0.0
        self._wake.set()

    # The thread

    def _work(self) -> None:
        while not self._stopped:
            self._attempt()
            self._wake.wait(LOOK_EVERY)
            self._wake.clear()

    def _attempt(self) -> None:
        """One look after everything. Whatever is wrong is told once, and tried again at the next look."""
        try:
            self._beat()
            self._reap()
            self._start_waiting()
            self._keep_warm()
            problem = ""
        except OSError as error:
            problem = f"No run can be started at the moment. {why(error)}"
        except Exception as error:  # nothing may end the thread that all runs wait for
            problem = f"No run can be started at the moment: {error or type(error).__name__}"
        if problem != self.problem:
            tell_the_host(problem or "Runs can be started again.")
        self.problem = problem

    def _beat(self) -> None:
        try:
            self.heartbeat.touch()
        except FileNotFoundError:  # the first time, or somebody has deleted the folder of all runs
            self.heartbeat.parent.mkdir(parents=True, exist_ok=True)
            _forget_old_servers(self.heartbeat.parent)
            self.heartbeat.touch()

    def _reap(self) -> None:
        for run_id, child in list(self.children.items()):
            if child.poll() is None:
                continue
            del self.children[run_id]
            given = self._given.pop(run_id)
            self._look_at_all = 0.0
            with self._trouble_of(run_id):
                self._tell_the_end(self.root / run_id, child.returncode, given)

    def _tell_the_end(self, folder: Path, code: int, given: float) -> None:
        if not code or not folder.is_dir() or is_locked(folder):
            return
        status = read_status(folder)
        never_began = status.state == "queued" and status.since == given
        if status.state == "interrupted" or never_began:
            write_status(folder, "failed", how_it_ended(code, folder))

    def _start_waiting(self) -> None:
        if time.monotonic() < self._look_at_all:
            return
        self._look_at_all = time.monotonic() + LOOK_AT_ALL_EVERY
        erase_old()
        for since, run_id, server in runs.waiting():
            if server != self.server or run_id in self.children or run_id in self.troubles:
                continue
            self._look_at_all = 0.0  # somebody waits: look again soon
            if len(runs.busy() | self.children.keys()) >= limits.max_workers():
                self._send_a_pausing_worker_away()
                return
            run = None
            with self._trouble_of(run_id):
                run = self._read_or_fail(self.root / run_id)
            if run:
                self.children[run_id] = self._give_to_a_worker(run)
                self._given[run_id] = since

    def _read_or_fail(self, folder: Path) -> runs.Run | None:
        try:
            return runs.read_run(folder)
        except runs.Unreadable as error:
            write_status(folder, "failed", str(error))
        except FileNotFoundError:  # deleted meanwhile
            pass
        return None

    @contextlib.contextmanager
    def _trouble_of(self, run_id: str) -> Iterator[None]:
        """What goes wrong with one run is told, and holds no other up. It would go wrong again at each look: it is left
        alone until somebody resumes it."""
        try:
            yield
        except Exception as error:
            reason = why(error) if isinstance(error, OSError) else str(error) or type(error).__name__
            self.troubles[run_id] = f"The server cannot go on with it. {reason}"
            tell_the_host(f"Run {run_id}: {self.troubles[run_id]}")

    def _give_to_a_worker(self, run: runs.Run) -> subprocess.Popen[bytes]:
        waiting = [worker for worker in self.warm if worker.waits]
        if waiting and run.threads == limits.fair_threads():
            worker = waiting[0]
            self.warm.remove(worker)
        else:
            worker = spawn(run.threads, self.heartbeat)
        worker.tell(run.folder)
        return worker.process

    def _send_a_pausing_worker_away(self) -> None:
        for run_id, child in self.children.items():
            if read_status(self.root / run_id).state == "paused":
                child.send_signal(signal.SIGTERM)
                return

    def _keep_warm(self) -> None:
        self.warm = [worker for worker in self.warm if worker.process.poll() is None]
        if time.monotonic() > self._warm_until:
            for worker in self.warm:
                worker.send_home()
        elif len(self.warm) + len(self.children) < min(WARM_WORKERS, limits.max_workers()):
            self.warm.append(spawn(limits.fair_threads(), self.heartbeat))


def spawn(threads: int, heartbeat: Path) -> WorkerProcess:
    """A worker that wakes up and then waits for the folder of its run on its standard input."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with (heartbeat.parent / "workers.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "vit.worker", "-", "--heartbeat", heartbeat.resolve()],
            cwd=PROJECT, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
            start_new_session=True,  # Ctrl-C in the server's terminal is not meant for it
        )
    assert process.stdin is not None  # it is a pipe
    return WorkerProcess(process, process.stdin)


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


def tell_the_host(words: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody has to listen
        print(words, file=sys.stderr, flush=True)


def _forget_old_servers(folder: Path) -> None:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > 3600:
                path.unlink()


_dispatchers: dict[Path, Dispatcher] = {}
_one_at_a_time = threading.Lock()


def dispatcher() -> Dispatcher:
    """The one dispatcher of this process for the runs folder in use."""
    root = runs_root()
    with _one_at_a_time:
        if root not in _dispatchers:
            _dispatchers[root] = Dispatcher(root)
        return _dispatchers[root]
