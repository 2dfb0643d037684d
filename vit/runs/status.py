"""How a run stands: what its worker last said, whether that worker lives, and what it is asked to do.

The files status.json, control and worker.lock of a run folder, and the heartbeats of servers.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from vit.files import write_atomically
from vit.runs.state import STATES, Facts, state_of

PROJECT = Path(__file__).parent.parent.parent
SERVER_GONE_AFTER = 10  # seconds without a heartbeat
ACTING = "acting"  # the server that looks after all runs, whichever it is now: see vit/runs/acting.py
END_OF_TIME = 253_402_300_799  # the last second of the year 9999: calendars go no further


@dataclass(frozen=True)
class Status:
    """How a run stands, by all that can be seen of it."""

    state: str  # queued, running, paused, stopping, done, stopped, failed or interrupted
    reason: str
    since: float
    server: str  # that looks after its worker


def root() -> Path:
    return Path(os.environ.get("PATCHWISE_RUNS") or PROJECT / "runs")


# What is said, and what is asked


def write_control(folder: Path, command: str) -> None:
    write_atomically(folder / "control", command.encode())


def read_control(folder: Path) -> str:
    """run, pause, stop, or until EPOCH; what cannot be read means run."""
    try:
        command = (folder / "control").read_text().strip()
    except (OSError, ValueError):
        return "run"
    return command if re.fullmatch(r"pause|stop|until \d{1,9}", command) else "run"


def write_status(folder: Path, state: str, reason: str = "", server: str = "", since: float | None = None) -> None:
    status = {"state": state, "reason": reason, "since": time.time() if since is None else since, "server": server}
    write_atomically(folder / "status.json", json.dumps(status).encode())


def read_status(folder: Path) -> Status:
    """How a run stands, with what a worker that was killed could not write any more."""
    before, stored = None, read_stored(folder)
    while stored != before:  # or the worker began or ended between our looks
        before, locked, stored = stored, is_locked(folder), read_stored(folder)
    facts = Facts(stored.state, stored.reason, read_control(folder), locked, server_alive(stored.server))
    state, reason = state_of(facts)
    return replace(stored, state=state, reason=reason)


def read_stored(folder: Path) -> Status:
    """What status.json says; with an empty state if that is nothing to go by."""
    try:
        content: Any = json.loads((folder / "status.json").read_bytes())
        status = Status(content["state"], content.get("reason", ""), content.get("since", 0.0),
                        content.get("server", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Status("", "", 0.0, "")
    words = all(isinstance(word, str) for word in (status.state, status.reason, status.server))
    since = is_a_time(status.since)
    return status if words and since and status.state in STATES else Status("", "", 0.0, "")


def is_a_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= END_OF_TIME


# Who works on it


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the folder as its one worker; False if another has it. The system lets go when we die."""
    with (folder / "worker.lock").open("w") as file:
        patience = time.monotonic() + 2  # a reader who looks holds it for an instant
        while not (held := try_lock(file, alone=True)) and time.monotonic() < patience:
            time.sleep(0.02)
        yield held


def is_locked(folder: Path) -> bool:
    try:
        with (folder / "worker.lock").open("r+") as file:
            return not try_lock(file, alone=False)
    except OSError:
        return False


def try_lock(file: IO[Any], alone: bool) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
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
        path = heartbeat_of(server)
        return bool(server) and "/" not in server and time.time() - path.stat().st_mtime < SERVER_GONE_AFTER
    except (OSError, ValueError):
        return False
