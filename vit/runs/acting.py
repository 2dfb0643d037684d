"""Which of the servers that share a folder of runs acts: one looks after all runs, the others stand by.

Whoever acts holds a lock, which the system takes back when its process dies: the next who asks then has it. Where
servers are on several machines, their file system has to know such locks (NFS from version 4 does).
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vit.runs.status import ACTING, heartbeat_of, try_lock

PATIENCE = 10  # seconds, for who asks for a place in the queue while others do


class Acting:
    """Our claim to act, and the heartbeat of whoever does."""

    def __init__(self) -> None:
        self.path = heartbeat_of(ACTING)
        self._file: IO[bytes] | None = None

    def is_ours(self) -> bool:
        if self._file and not _is_still(self._file, self.path):  # somebody has deleted the folder of all runs
            self.leave()
        if not self._file:
            file = self.path.open("ab")
            if not try_lock(file, alone=True):
                file.close()
                return False
            self._file = file
        os.utime(self.path)
        return True

    def leave(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


def _is_still(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


@contextmanager
def alone_at_the_queue() -> Iterator[None]:
    """For this long no other server lets anybody join: pairs stay together, and counted places stay free."""
    bell = _bell()
    bell.parent.mkdir(parents=True, exist_ok=True)
    with bell.open("ab") as file:
        patience = time.monotonic() + PATIENCE
        while not try_lock(file, alone=True):
            if time.monotonic() > patience:
                raise TimeoutError("Another server holds the queue for too long.")
            time.sleep(0.01)
        try:
            yield
        finally:
            os.utime(bell)


def rung_at() -> int:
    """When somebody last joined the queue, on whichever server."""
    try:
        return _bell().stat().st_mtime_ns
    except OSError:
        return 0


def _bell() -> Path:
    return heartbeat_of("queue")
