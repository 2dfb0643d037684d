"""Run folders on disk: what is in them, and what may be asked of them.

One training run is one folder: config.json, metrics.jsonl, status.json, checkpoints/ and the state to go on
from. Its worker writes, everybody else reads; whoever wants something of the worker writes the control file.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from vit import reports
from vit.checkpoints import write_atomically
from vit.config import TrainConfig
from vit.reports import Report, Validation

PROJECT = Path(__file__).parent.parent
RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
CHECKPOINT = re.compile(r"epoch-\d{4}")
SERVER_GONE_AFTER = 10  # seconds without a heartbeat
ACTIVE = ("queued", "running", "stopping")


class RunError(Exception):
    """A wish that cannot be granted; the message is a sentence for the visitor."""


@dataclass(frozen=True)
class Run:
    """A run folder as it stands now."""

    id: str
    folder: Path
    pair: str  # what twins have in common
    preset: str
    created: float
    threads: int
    config: TrainConfig
    state: str  # queued, running, paused, stopping, done, stopped, failed or interrupted
    reason: str
    since: float

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def resumable(self) -> bool:
        return self.state in ("paused", "stopped", "failed", "interrupted")

    @property
    def checkpoints(self) -> list[str]:
        """Names of the epochs whose weights are kept, first to last."""
        return sorted(path.stem for path in (self.folder / "checkpoints").glob("epoch-*.safetensors"))


# Where runs live


def root() -> Path:
    return Path(os.environ.get("PATCHWISE_RUNS") or PROJECT / "runs")


def folder_of(run_id: str) -> Path:
    """The folder of a run, for names that can only mean a folder right under the root."""
    if not RUN_ID.fullmatch(run_id) or not (root() / run_id / "config.json").is_file():
        raise FileNotFoundError(f"There is no run {run_id[:80]!r}; it may have been deleted.")
    return root() / run_id


def checkpoint_path(run_id: str, stem: str) -> Path:
    if not CHECKPOINT.fullmatch(stem):
        raise FileNotFoundError(f"There is no checkpoint {stem[:80]!r}; names are like epoch-0001.")
    path = folder_of(run_id) / "checkpoints" / f"{stem}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"Run {run_id} has no checkpoint {stem} any more.")
    return path


def get(run_id: str) -> Run:
    return read_run(folder_of(run_id))


def list_runs() -> list[Run]:
    """All runs, newest first; folders that are not runs, or half deleted, are passed over."""
    folders = [config.parent for config in root().glob("*/config.json")]
    return sorted(_readable(folders), key=lambda run: (run.created, run.id), reverse=True)


def _readable(folders: list[Path]) -> Iterator[Run]:
    for folder in folders:
        if RUN_ID.fullmatch(folder.name):
            try:
                yield read_run(folder)
            except (OSError, ValueError, KeyError, TypeError):
                continue


def unreadable() -> list[tuple[str, str]]:
    """The folders that look like runs and cannot be read: their names, each with a sentence that says why."""
    found = []
    for config in sorted(root().glob("*/config.json")):
        if RUN_ID.fullmatch(config.parent.name):
            try:
                read_run(config.parent)
            except (OSError, ValueError, KeyError, TypeError) as error:
                found.append((config.parent.name, f"Its files cannot be read: {error}"))
    return found


def pair(pair_id: str) -> list[Run]:
    """The twins of a pair, the one without flips first."""
    if not RUN_ID.fullmatch(pair_id):
        return []
    folders = [config.parent for config in root().glob(f"{pair_id}*/config.json")]
    twins = [run for run in _readable(folders) if run.pair == pair_id]
    return sorted(twins, key=lambda run: run.config.flips)


def read_run(folder: Path) -> Run:
    story = json.loads((folder / "config.json").read_text())
    state, reason, since = read_status(folder)
    return Run(
        id=folder.name, folder=folder, pair=story["pair"], preset=story["preset"], created=story["created"],
        threads=story["threads"], config=TrainConfig.from_dict(story["train"]),
        state=state, reason=reason, since=since,
    )


# Making and removing runs


def create(config: TrainConfig, preset: str = "", pair_id: str = "", folder: Path | None = None,
           threads: int | None = None) -> Path:
    """A new run folder, waiting to be resumed for the first time."""
    pair_id = pair_id or new_pair_id()
    folder = folder or root() / f"{pair_id}-{'flips' if config.flips else 'plain'}"
    story = {"train": asdict(config), "preset": preset, "pair": pair_id, "created": time.time(),
             "threads": threads or fair_threads()}
    write_status(folder, "stopped", "Not started yet.")
    write_atomically(folder / "config.json", json.dumps(story, indent=1).encode())
    return folder


def create_twins(config: TrainConfig, preset: str = "") -> str:
    """Two run folders that differ in flipping alone; returns what their names have in common."""
    used, limit = disk_used(), disk_limit()
    if used > limit:
        raise RunError(f"The runs take {used / 1e6:,.0f} MB, and {limit / 1e6:,.0f} MB is the limit here. "
                       "Delete old runs to make room.")
    pair_id = new_pair_id()
    for flips in (False, True):
        create(replace(config, flips=flips), preset, pair_id)
    return pair_id


def new_pair_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def delete(run_id: str) -> None:
    """Stop the worker, if there is one, and remove the folder with all that is in it."""
    folder = folder_of(run_id)
    stop(run_id)
    patience = time.monotonic() + 10
    while is_locked(folder):
        if time.monotonic() > patience:
            raise RunError("The run is still busy and could not be deleted. Try again in a moment.")
        time.sleep(0.05)
    shutil.rmtree(folder)
    feed.cache_clear()


def fair_threads() -> int:
    """Threads of one worker, so that twins share the cores."""
    return max(1, min(4, (os.cpu_count() or 1) // 2))


def max_workers() -> int:
    """How many train at once: twins at least, and no more than the cores can bear."""
    wish = os.environ.get("PATCHWISE_WORKERS", "")
    return max(1, int(wish)) if wish.isdigit() else max(2, (os.cpu_count() or 1) // fair_threads())


def disk_limit() -> int:
    wish = os.environ.get("PATCHWISE_RUNS_MB", "")
    return (int(wish) if wish.isdigit() else 2_000) * 1_000_000


def disk_used(folder: Path | None = None) -> int:
    total = 0
    for path in (folder or root()).rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # deleted while we count
            continue
    return total


# What a visitor may ask of a run


def resume(run_id: str, server: str, until_epoch: int | None = None) -> None:
    """Let a run go on, to its end or until an epoch is done; without a worker it waits for the server's."""
    folder = folder_of(run_id)
    write_control(folder, "run" if until_epoch is None else f"until {until_epoch}")
    if not is_locked(folder):
        write_status(folder, "queued", server=server)


def pause(run_id: str) -> None:
    folder = folder_of(run_id)
    write_control(folder, "pause")
    if read_status(folder)[0] == "queued" and not is_locked(folder):
        write_status(folder, "paused")


def stop(run_id: str) -> None:
    folder = folder_of(run_id)
    write_control(folder, "stop")
    if read_status(folder)[0] in ("queued", "paused") and not is_locked(folder):
        write_status(folder, "stopped")


def place_in_queue(run: Run) -> int:
    """1 for the run whose turn comes next."""
    return 1 + sum(other.state == "queued" and (other.since, other.id) < (run.since, run.id)
                   for other in list_runs())


# The files of a run


def write_control(folder: Path, command: str) -> None:
    write_atomically(folder / "control", command.encode())


def read_control(folder: Path) -> str:
    try:
        return (folder / "control").read_text()
    except OSError:
        return "run"


def write_status(folder: Path, state: str, reason: str = "", server: str = "") -> None:
    status = {"state": state, "reason": reason, "since": time.time(), "server": server}
    write_atomically(folder / "status.json", json.dumps(status).encode())


def read_status(folder: Path) -> tuple[str, str, float]:
    """State, reason and since when, with what a worker that was killed could not write any more."""
    status = _stored_status(folder)
    state = status["state"]
    if state in ("running", "stopping") and not is_locked(folder):
        status = _stored_status(folder)  # it may have ended between our two looks
        if status["state"] in ("running", "stopping"):
            return "interrupted", "Its worker is gone. It can go on where it last saved.", status["since"]
    elif state == "queued" and not is_locked(folder) and not server_alive(status["server"]):
        return "interrupted", "The server that it waited for is gone.", status["since"]
    elif state == "running" and read_control(folder) == "stop":
        return "stopping", "", status["since"]
    return status["state"], status["reason"], status["since"]


def _stored_status(folder: Path) -> dict:
    try:
        return {"reason": "", "since": 0.0, "server": "", **json.loads((folder / "status.json").read_text())}
    except (OSError, ValueError):
        return {"state": "interrupted", "reason": "Its status cannot be read.", "since": 0.0, "server": ""}


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the folder as its one worker; False if another has it. The system lets go when we die."""
    with (folder / "worker.lock").open("w") as file:
        patience = time.monotonic() + 2  # a reader who looks holds it for an instant
        while not (held := _try_lock(file, alone=True)) and time.monotonic() < patience:
            time.sleep(0.02)
        yield held


def is_locked(folder: Path) -> bool:
    try:
        with (folder / "worker.lock").open("r+") as file:
            return not _try_lock(file, alone=False)
    except OSError:
        return False


def busy() -> set[str]:
    """The runs that have a worker now, no matter who started it."""
    return {lock.parent.name for lock in root().glob("*/worker.lock") if is_locked(lock.parent)}


def _try_lock(file, alone: bool) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def heartbeat_of(server: str) -> Path:
    return root() / ".servers" / server


def server_alive(server: str) -> bool:
    try:
        return bool(server) and time.time() - heartbeat_of(server).stat().st_mtime < SERVER_GONE_AFTER
    except OSError:
        return False


# Reading metrics


class Feed:
    """The metrics of one run, read as they grow; a line that is still being written waits."""

    def __init__(self, folder: Path):
        self.path = folder / "metrics.jsonl"
        self._reports: list[Report] = []
        self._offset = 0
        self._inode = -1
        self._lock = Lock()

    def read(self) -> list[Report]:
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    status = os.fstat(file.fileno())
                    rewritten = status.st_ino != self._inode or status.st_size < self._offset
                    if rewritten:  # by a resumed run
                        self._reports, self._offset, self._inode = [], 0, status.st_ino
                    file.seek(self._offset)
                    fresh = file.read()
            except OSError:
                return list(self._reports)
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._offset += len(whole)
            for line in whole.splitlines():
                if report := reports.from_line(line):
                    self._reports.append(report)
            return list(self._reports)


def last_verdict(folder: Path, tail: int = 65_536) -> Validation | None:
    """The last validation, without reading all that came before."""
    try:
        with (folder / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - tail))
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        if b'"validation"' in line and isinstance(report := reports.from_line(line), Validation):
            return report
    return None


@lru_cache(maxsize=32)
def feed(folder: Path) -> Feed:
    return Feed(folder)
