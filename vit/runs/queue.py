"""The server's side of training: a thread that starts workers when their turn comes and notices their end.

The queue is in the run folders: those whose state is queued, the longest waiting first. Where several servers share
these folders, one of them acts for all; should it die, another goes on.
"""

import contextlib
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import vit.runs.folder as runs
import vit.runs.limits as limits
from vit.environment import ray_address
from vit.files import why
from vit.runs.acting import Acting, alone_at_the_queue, rung_at
from vit.runs.asking import owner_of
from vit.runs.deleted import erase_old
from vit.runs.names import pair_of
from vit.runs.pairs import check_queue
from vit.runs.places import Ending, Job, Place
from vit.runs.processes import Processes
from vit.runs.status import heartbeat_of, is_locked, read_status, read_stored, write_status
from vit.runs.status import root as runs_root

LOOK_EVERY = 0.25  # seconds
LOOK_AT_ALL_EVERY = 5
WARM_FOR = 300  # seconds after the last visitor came


def place_of_runs(heartbeat: Path) -> Place:
    """Where the runs of this server train. Its processes go by the server's heartbeat."""
    if address := ray_address():
        from vit.runs.ray_jobs import RayJobs

        return RayJobs(address, heartbeat.name)
    return Processes(heartbeat)


class Dispatcher:
    def __init__(self, root: Path):
        self.root = root
        self.server = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.children: dict[str, Job] = {}
        self.problem = ""  # why no run can be started now, as a sentence; empty if all is well
        self.troubles: dict[str, str] = {}  # runs that are left alone until somebody resumes them, and why
        self.heartbeat = heartbeat_of(self.server)
        self.place = place_of_runs(self.heartbeat)
        self.acting = Acting()
        self._expected = heartbeat_of("expected")  # when a visitor last came, to whichever server
        self._acted = False
        self._rung_at = 0
        self._given: dict[str, float] = {}  # since when the run of a child had waited
        self._left_alone: dict[str, float] = {}  # since when runs with troubles have waited
        self._look_at_all = 0.0
        self._wake = threading.Event()
        self._stopped = False
        self._attempt()  # the heart beats before the first run is queued
        self._thread = threading.Thread(target=self._work, name="dispatcher", daemon=True)
        self._thread.start()

    def start(self, *run_ids: str) -> None:
        """Begin, or go on: at once where a worker is only pausing, else when the run's turn comes."""
        self._resume(*run_ids)

    def run_one_epoch(self, run_id: str, epochs_done: int) -> None:
        self._resume(run_id, until_epoch=epochs_done + 1)

    def expect_a_start(self) -> None:
        """A visitor looks at the page: let workers wake up before the button is pressed."""
        with contextlib.suppress(OSError):  # which the next look will tell
            self._expected.touch()
        self._wake.set()

    def close(self) -> None:
        """Stop looking after workers: they notice, save and end."""
        self._stopped = True
        self._wake.set()
        self._thread.join()
        self.place.close()
        self.acting.leave()
        with contextlib.suppress(OSError):
            self.heartbeat.unlink(missing_ok=True)
        _dispatchers.pop(self.root, None)

    def _resume(self, *run_ids: str, until_epoch: int | None = None) -> None:
        with _one_at_a_time:  # or many who come at once would all find room in the queue
            try:
                with alone_at_the_queue():
                    for run_id in run_ids:
                        if not is_locked(runs.folder_of(run_id)):
                            check_queue(owner_of(run_id), but=pair_of(run_id))
                        self.troubles.pop(run_id, None)  # before: from then on the thread may find a new one
                        runs.resume(run_id, self.server, until_epoch)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise limits.RunError(f"The run could not be started. {why(error)}") from error
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
            acts = self.acting.is_ours()
            self._reap()
            if acts and not self._acted:
                self._take_over()
            self._acted = acts
            if acts:
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

    def _take_over(self) -> None:
        """Look after what the server before us has left: workers that outlive it."""
        self._look_at_all = 0.0
        for run in runs.list_runs():
            with self._trouble_of(run.id):
                job = self.place.find(run)
                if job and run.id not in self.children:
                    self.children[run.id], self._given[run.id] = job, run.since

    def _reap(self) -> None:
        for run_id, child in list(self.children.items()):
            ending = child.ending()
            if ending is None:
                continue
            del self.children[run_id]
            given = self._given.pop(run_id)
            self._look_at_all = 0.0
            with self._trouble_of(run_id):
                self._tell_the_end(self.root / run_id, ending, given)

    def _tell_the_end(self, folder: Path, ending: Ending, given: float) -> None:
        if not ending.reason or not folder.is_dir() or is_locked(folder):
            return
        status = read_status(folder)
        never_began = status.state == "queued" and status.since == given
        if status.state == "interrupted" or never_began:
            if ending.again:  # and it is the next, having waited longest
                write_status(folder, "queued", ending.reason, self.server, given)
            else:
                write_status(folder, "failed", ending.reason)

    def _start_waiting(self) -> None:
        rung_at_last = rung_at()
        if time.monotonic() < self._look_at_all and rung_at_last == self._rung_at:
            return
        self._rung_at = rung_at_last
        self._look_at_all = time.monotonic() + LOOK_AT_ALL_EVERY
        erase_old()
        waiting = [(run_id, server) for since, run_id, server in runs.waiting()
                   if run_id not in self.children and not self._is_left_alone(run_id, since)]
        for run_id, server in waiting:
            if server != self.server:
                with self._trouble_of(run_id):
                    self._adopt(self.root / run_id)
        for run_id, _ in waiting:
            self._look_at_all = 0.0  # somebody waits: look again soon
            if len(runs.busy() | self.children.keys()) >= limits.max_workers():
                self._send_a_pausing_worker_away()
                return
            run = None
            with self._trouble_of(run_id):
                run = self._read_or_fail(self.root / run_id)
            if run:
                self.children[run_id], self._given[run_id] = self.place.start(run), run.since

    def _adopt(self, folder: Path) -> None:
        """What waits for another server waits for us from now on, and loses nothing if that server ends."""
        if not is_locked(folder):
            stored = read_stored(folder)
            write_status(folder, "queued", stored.reason, self.server, stored.since)

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
            self._left_alone[run_id] = read_stored(self.root / run_id).since
            tell_the_host(f"Run {run_id}: {self.troubles[run_id]}")

    def _is_left_alone(self, run_id: str, since: float) -> bool:
        if run_id in self.troubles and self._left_alone[run_id] != since:  # resumed, perhaps on another server
            self.troubles.pop(run_id, None)  # unless that server is this one, and has done it
        return run_id in self.troubles

    def _send_a_pausing_worker_away(self) -> None:
        for run_id, child in self.children.items():
            if read_status(self.root / run_id).state == "paused":
                child.make_room()
                return

    def _keep_warm(self) -> None:
        try:
            expected = self._acted and time.time() - self._expected.stat().st_mtime < WARM_FOR
        except OSError:  # nobody came yet
            expected = False
        self.place.keep_warm(expected, len(self.children))


def tell_the_host(words: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody has to listen
        print(words, file=sys.stderr, flush=True)


def _forget_old_servers(folder: Path) -> None:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if "-" in path.name and time.time() - path.stat().st_mtime > 3600:  # the others are of all servers
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
