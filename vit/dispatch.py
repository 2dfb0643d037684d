"""The server's side of training: a thread that starts workers when their turn comes and notices their end.

A worker needs seconds to wake up before it can take a run: while visitors look at the page, two are warm.
"""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from vit import runs
from vit.runs import PROJECT

LOOK_EVERY = 0.25  # seconds
WARM_WORKERS = 2
WARM_FOR = 300  # seconds after the last visitor came


class Dispatcher:
    def __init__(self, root: Path):
        self.root = root
        self.server = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.queue: list[str] = []
        self.children: dict[str, subprocess.Popen] = {}
        self.warm: list[subprocess.Popen] = []
        self._warm_until = 0.0
        self._wake = threading.Event()
        self._stopped = False
        self.heartbeat = runs.heartbeat_of(self.server)
        self.heartbeat.parent.mkdir(parents=True, exist_ok=True)
        _forget_old_servers(self.heartbeat.parent)
        self.heartbeat.touch()
        self._thread = threading.Thread(target=self._work, name="dispatcher", daemon=True)
        self._thread.start()

    def start(self, *run_ids: str) -> None:
        """Begin, or go on: at once where a worker is only pausing, else when the run's turn comes."""
        for run_id in run_ids:
            runs.resume(run_id, self.server)
            self.queue.append(run_id)
        self._wake.set()

    def run_one_epoch(self, run_id: str, epochs_done: int) -> None:
        runs.resume(run_id, self.server, until_epoch=epochs_done + 1)
        self.queue.append(run_id)
        self._wake.set()

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
            worker.stdin.close()
            worker.wait()
        self.heartbeat.unlink(missing_ok=True)
        _dispatchers.pop(self.root, None)

    def _work(self) -> None:
        while not self._stopped:
            try:
                self.heartbeat.touch()
                self._reap()
                self._start_waiting()
                self._keep_warm()
            except OSError as error:  # a full disk must not end the thread that will see it freed
                print(f"The queue of runs could not be served: {error}", file=sys.stderr)
            self._wake.wait(LOOK_EVERY)
            self._wake.clear()

    def _reap(self) -> None:
        for run_id, child in list(self.children.items()):
            if child.poll() is None:
                continue
            del self.children[run_id]
            folder = self.root / run_id
            if not folder.exists() or runs.is_locked(folder):
                continue
            state = runs.read_status(folder)[0]
            if state == "paused" and runs.read_control(folder) != "pause":
                self.start(run_id)  # it was asked to go on just as it left
            elif state in ("interrupted", "queued") and child.returncode:
                runs.write_status(folder, "failed", how_it_ended(child.returncode, folder))

    def _start_waiting(self) -> None:
        for run_id in list(self.queue):
            folder = self.root / run_id
            if not folder.exists() or runs.read_status(folder)[0] != "queued":
                self.queue.remove(run_id)
            elif run_id not in self.children:
                if len(runs.busy() | self.children.keys()) >= runs.max_workers():
                    self._send_a_pausing_worker_away()
                    return
                try:
                    self.children[run_id] = self._give_to_a_worker(runs.read_run(folder))
                except (ValueError, KeyError, TypeError) as error:
                    runs.write_status(folder, "failed", f"Its config.json cannot be used: {error}")

    def _give_to_a_worker(self, run: runs.Run) -> subprocess.Popen:
        waiting = [worker for worker in self.warm if worker.poll() is None and not worker.stdin.closed]
        if waiting and run.threads == runs.fair_threads():
            worker = waiting[0]
            self.warm.remove(worker)
        else:
            worker = spawn(run.threads, self.heartbeat)
        try:
            worker.stdin.write(f"{run.folder.resolve()}\n".encode())
            worker.stdin.close()
        except BrokenPipeError:  # it died this instant, which the next look will notice
            pass
        return worker

    def _send_a_pausing_worker_away(self) -> None:
        for run_id, child in self.children.items():
            if runs.read_status(self.root / run_id)[0] == "paused":
                child.send_signal(signal.SIGTERM)
                return

    def _keep_warm(self) -> None:
        self.warm = [worker for worker in self.warm if worker.poll() is None]
        if time.monotonic() > self._warm_until:
            for worker in self.warm:
                worker.stdin.close()
        elif len(self.warm) + len(self.children) < min(WARM_WORKERS, runs.max_workers()):
            self.warm.append(spawn(runs.fair_threads(), self.heartbeat))


def spawn(threads: int, heartbeat: Path) -> subprocess.Popen:
    """A worker that wakes up and then waits for the folder of its run on its standard input."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with (heartbeat.parent / "workers.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "vit.worker", "-", "--heartbeat", heartbeat.resolve()],
            cwd=PROJECT, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
            start_new_session=True,  # Ctrl-C in the server's terminal is not meant for it
        )


def how_it_ended(code: int, folder: Path) -> str:
    if code < 0:
        name = signal.Signals(-code).name
        hint = ", perhaps because memory ran out" if name == "SIGKILL" else ""
        return f"Its worker was killed ({name}{hint}). It can go on from where it last saved."
    try:
        last_words = (folder / "worker.log").read_text(errors="replace").strip().splitlines()[-1][:200]
    except (OSError, IndexError):
        last_words = "no word"
    return f"Its worker ended with an error: {last_words}"


def _forget_old_servers(folder: Path) -> None:
    for path in folder.iterdir():
        if time.time() - path.stat().st_mtime > 3600:
            path.unlink(missing_ok=True)


_dispatchers: dict[Path, Dispatcher] = {}
_one_at_a_time = threading.Lock()


def dispatcher() -> Dispatcher:
    """The one dispatcher of this process for the runs folder in use."""
    root = runs.root()
    with _one_at_a_time:
        if root not in _dispatchers:
            _dispatchers[root] = Dispatcher(root)
        return _dispatchers[root]
