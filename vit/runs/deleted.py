"""Runs that somebody deleted: set aside for a minute, in which they can be taken back, then erased.

A deleted run is its folder under another name, which tells since when and by whom: RUNS/.deleted/TIME.MARK.RUN. Nobody
finds it there as a run, and what it takes of the disk counts until it is erased.
"""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import vit.runs.asking as asking
import vit.runs.folder as folders
import vit.runs.limits as limits
from vit.files import why
from vit.runs.limits import RunError
from vit.runs.metrics import feed
from vit.runs.names import RUN_ID
from vit.runs.owners import MARK, Visitor
from vit.runs.status import root, write_control

KEPT_FOR = 60  # seconds
NAME = re.compile(rf"(\d{{1,12}})\.({MARK.pattern})\.({RUN_ID.pattern})")
ERASING = ".erasing"  # at the end of a name: nobody can take it back any more


@dataclass(frozen=True)
class Deleted:
    """A run that can still be taken back."""

    run_id: str
    by: str  # the mark of whoever deleted it
    at: int
    folder: Path

    @property
    def seconds_left(self) -> float:
        return KEPT_FOR - abs(time.time() - self.at)  # a clock that was set back keeps nothing for hours


def set_aside(visitor: Visitor, run_ids: Sequence[str]) -> None:
    """Delete runs, whatever they are doing, so that they can be taken back for a minute."""
    asking.check(visitor, *run_ids)
    for run_id in run_ids:  # all at once: each waits for its worker
        if RUN_ID.fullmatch(run_id):
            with contextlib.suppress(OSError):
                write_control(root() / run_id, "stop")
    for run_id in run_ids:
        folders.remove(run_id, partial(_move, by=visitor.mark), even_if_active=True)


def _move(folder: Path, by: str) -> None:
    _place().mkdir(exist_ok=True)
    os.rename(folder, _place() / f"{time.time():.0f}.{by}.{folder.name}")


def to_take_back(visitor: Visitor) -> list[Deleted]:
    """What this visitor has deleted within the last minute: nobody else sees it."""
    return [one for one in _all() if one.by == visitor.mark and one.seconds_left > 0]


def take_back(visitor: Visitor) -> None:
    """All that can be. What trained when it was deleted has stopped, and can be resumed."""
    missed = 0
    for one in to_take_back(visitor):
        try:
            if (root() / one.run_id).exists():
                raise RunError(f"There is another run {one.run_id} now.")
            os.rename(one.folder, root() / one.run_id)
        except FileNotFoundError:  # its minute was over
            missed += 1
        except OSError as error:
            raise RunError(f"The run could not be taken back. {why(error)}") from error
    feed.cache_clear()
    if missed:
        raise RunError("The minute was over: what was deleted is gone.")


def size() -> int:
    """Bytes that will be free within a minute."""
    return limits.disk_used(_place())


def erase_old() -> None:
    """What nobody can take back any more goes for good; what cannot go now is tried again at the next call."""
    for one in _all():
        if one.seconds_left <= 0:
            with contextlib.suppress(OSError):  # somebody else has it, or it was taken back this instant
                os.rename(one.folder, one.folder.with_name(one.folder.name + ERASING))
    for name in _names():
        if name.endswith(ERASING):
            shutil.rmtree(_place() / name, ignore_errors=True)


def _place() -> Path:
    return root() / ".deleted"


def _names() -> list[str]:
    try:
        return os.listdir(_place())
    except OSError:
        return []


def _all() -> Iterator[Deleted]:
    for name in sorted(_names()):
        if found := NAME.fullmatch(name):
            yield Deleted(found[3], found[2], int(found[1]), _place() / name)
