"""The lines of the table of all runs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vit import runs
from vit.runs import Run


@dataclass(frozen=True)
class Entry:
    """A line of the table: twins, a single run, or a folder that cannot be read."""

    name: str
    runs: Sequence[Run] = ()
    fault: str = ""

    @property
    def ids(self) -> list[str]:
        return [run.id for run in self.runs] or [self.name]

    @property
    def training(self) -> bool:
        return any(run.active for run in self.runs)

    @cached_property
    def owner(self) -> str:
        return self.runs[0].owner if self.runs else runs.owner_of(self.name)

    @cached_property
    def size(self) -> int:
        folders: list[Path] = [run.folder for run in self.runs] or [runs.root() / self.name]
        return sum(map(runs.disk_used, folders))

    @property
    def started(self) -> str:
        try:
            return time.strftime("%d %b, %H:%M", time.localtime(self.runs[0].created)) if self.runs else ""
        except (ValueError, OverflowError, OSError):  # no date that there is
            return ""


def all_entries() -> list[Entry]:
    """Newest first, and then what cannot be read."""
    found, unreadable = runs.everything()
    pairs: dict[str, list[Run]] = {}
    for run in found:
        pairs.setdefault(run.pair, []).append(run)
    readable = [Entry(name, sorted(twins, key=lambda run: run.role.side)) for name, twins in pairs.items()]
    return readable + [Entry(name, fault=sentence) for name, sentence in unreadable]


def many(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
