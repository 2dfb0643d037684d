"""How much may be trained here, and what to say when more is asked for. Each limit has its environment variable."""

import os
from collections.abc import Iterator
from pathlib import Path

from vit.environment import ray_address, whole_number
from vit.runs.owners import key_is_set

MB = 1_000_000
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of cgroup v2


class RunError(Exception):
    """Something was asked for that cannot be; the message is a sentence for the visitor."""


# Cores


def fair_threads() -> int:
    """Threads of one worker, so that twins share the cores; on Ray, each has one core of some node."""
    if ray_address():
        return 1
    return max(1, min(4, (os.cpu_count() or 1) // 2))


def max_workers() -> int:
    """How many train at once: twins at least, and no more than the cores can bear."""
    return max(1, whole_number("PATCHWISE_WORKERS", max(2, (os.cpu_count() or 1) // fair_threads())))


# The queue


def max_waiting() -> int:
    """How many pairs may wait for their turn."""
    return max(1, whole_number("PATCHWISE_QUEUE", 8))


def check_queue(waiting: int, more: int = 1) -> None:
    if waiting >= max_waiting():
        pairs = "1 pair waits for its" if waiting == 1 else f"{waiting} pairs wait for their"
        raise RunError(f"{pairs} turn already, and more may not wait here. Try again when one has begun.")
    if waiting + more > max_waiting():
        raise RunError(f"There is room for {max_waiting() - waiting} more of the {max_waiting()} pairs that may wait "
                       f"here, and this would be {more}. Ask for fewer seeds, or try again later.")


def max_waiting_each() -> int:
    """How many of them one visitor may have: half, where there is a teacher; all, where everybody may do everything."""
    usual = (max_waiting() + 1) // 2 if key_is_set() else max_waiting()
    return min(max_waiting(), max(1, whole_number("PATCHWISE_QUEUE_EACH", usual)))


def check_share(waiting: int, more: int = 1) -> None:
    """The same for what one visitor has waiting."""
    if waiting + more > max_waiting_each():
        most = "1 pair" if max_waiting_each() == 1 else f"{max_waiting_each()} pairs"
        this = "" if more == 1 else f", and this would be {more} more"
        then = "Try again when one has begun." if waiting >= max_waiting_each() else "Ask for fewer seeds."
        raise RunError(f"One visitor may have {most} waiting here. {waiting or 'None'} wait{'s' * (waiting == 1)} "
                       f"already{this}. {then}")


# The disk


def disk_limit() -> int:
    return whole_number("PATCHWISE_RUNS_MB", 2_000) * MB


def disk_used(folder: Path) -> int:
    """All that lies in a folder, in bytes: a few microseconds a file."""
    return sum(_sizes(folder))


def _sizes(folder: str | os.PathLike[str]) -> Iterator[int]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        yield from _sizes(entry.path)
                    else:
                        yield entry.stat(follow_symlinks=False).st_size
                except OSError:  # deleted while we count
                    continue
    except OSError:
        return


def check_disk(root: Path, needed: float, leaving: int = 0) -> None:
    """Refuse what would not fit in the end; `leaving` of what is there was deleted, and is about to go."""
    used, limit = disk_used(root), disk_limit()
    if used + needed > limit:
        if used - leaving + needed <= limit:
            raise RunError(f"The runs take {used / MB:,.0f} of {limit / MB:,.0f} MB. {leaving / MB:,.0f} MB of that "
                           "were deleted and are free within a minute: try again then.")
        raise RunError(f"The runs take {used / MB:,.0f} MB, these would take up to {needed / MB:,.0f} MB more, and "
                       f"{limit / MB:,.0f} MB is the limit here. Delete old runs to make room.")


# Memory


def pair_memory() -> float:
    """What twins may take together: their share beside as many others as may train at once, or less if told so."""
    return min(_share_of_memory(), _allowed_memory())


def check_memory(needed: float) -> None:
    if needed <= pair_memory():
        return
    there_is, share, allowed = _memory(), _share_of_memory(), _allowed_memory()
    others = f", {share / 1e9:,.1f} GB for each pair if {max_workers()} runs train at once" if share < there_is else ""
    limit = (f"{allowed / 1e9:,.1f} GB is the most that a pair may take here" if allowed < share
             else f"this machine has {there_is / 1e9:,.1f} GB{others}")
    raise RunError(f"Both twins together would take about {needed / 1e9:,.1f} GB of memory, and {limit}. "
                   "A smaller width, depth, MLP or batch size would do.")


def _allowed_memory() -> float:
    return whole_number("PATCHWISE_PAIR_MB", 0) * MB or float("inf")


def _share_of_memory() -> float:
    """Of Ray's nodes nothing is known here: they are taken to be like this machine, with one pair each."""
    return _memory() / (1 if ray_address() else max(1, max_workers() / 2))


def _memory() -> float:
    return min(_machine_memory(), _container_memory())


def _machine_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not every system tells
        return float("inf")


def _container_memory() -> float:
    try:
        return float(CONTAINER_LIMIT.read_text())
    except (OSError, ValueError):  # there is no container, or it has no limit: "max"
        return float("inf")
