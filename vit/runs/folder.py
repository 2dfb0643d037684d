"""Run folders on disk: what is in them, and what may be asked of them.

One training run is one folder: config.json, metrics.jsonl, status.json, checkpoints/ and the state to go on
from. Its worker writes, everybody else reads; whoever wants something of the worker writes the control file.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import vit.runs.limits as limits
from vit.config import TrainConfig
from vit.files import why, write_atomically
from vit.runs.limits import RunError
from vit.runs.metrics import feed
from vit.runs.names import RUN_ID, new_pair_id
from vit.runs.owners import as_mark
from vit.runs.state import ACTIVE, MAY_WAIT, RESUMABLE
from vit.runs.status import is_a_time, is_locked, read_status, read_stored, root, write_control, write_status

CHECKPOINT = re.compile(r"epoch-\d{4}")
MOST_THREADS = 1024
FLIPS = ("without flips", "with flips")  # the arms of runs that name none
LONGEST_WORD = 80
MOST_ARMS = 100


class Unreadable(ValueError):
    """Says in one sentence why a folder is no run that can be shown."""


@dataclass(frozen=True)
class Role:
    """What a run stands for among those that it is compared with."""

    arm: str  # its name there
    side: int  # its place there, from 0
    topic: str  # what is asked
    series: str = ""  # of pairs with several seeds, if it belongs to one


@dataclass(frozen=True)
class Run:
    """A run folder as it stands now."""

    id: str
    folder: Path
    pair: str  # what the names of twins have in common
    preset: str
    created: float
    threads: int
    config: TrainConfig
    state: str
    reason: str
    since: float
    role: Role
    owner: str = ""  # the mark of whoever started it; empty for nobody's

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def resumable(self) -> bool:
        return self.state in RESUMABLE

    @property
    def checkpoints(self) -> list[str]:
        """Names of the epochs whose weights are kept, first to last."""
        found = (path.stem for path in (self.folder / "checkpoints").glob("epoch-*.safetensors"))
        return sorted(stem for stem in found if CHECKPOINT.fullmatch(stem))


# Where runs live


def folder_of(run_id: str) -> Path:
    """The folder of a run, for names that can only mean a folder right under the root."""
    if not RUN_ID.fullmatch(run_id) or not (root() / run_id / "config.json").is_file():
        raise gone(run_id)
    return root() / run_id


def gone(run_id: str) -> FileNotFoundError:
    return FileNotFoundError(f"There is no run {run_id[:80]!r}; it may have been deleted.")


def checkpoint_path(run_id: str, stem: str) -> Path:
    if not CHECKPOINT.fullmatch(stem):
        raise FileNotFoundError(f"There is no checkpoint {stem[:80]!r}; names are like epoch-0001.")
    path = folder_of(run_id) / "checkpoints" / f"{stem}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"Run {run_id} has no checkpoint {stem} any more.")
    return path


def fingerprint(path: Path) -> str:
    """Another one for each file that ever had this name: what is kept of a file's content goes by this."""
    found = path.stat()
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"


# Reading them


def get(run_id: str) -> Run:
    return read_run(folder_of(run_id))


def list_runs() -> list[Run]:
    """All runs that can be read, newest first."""
    return everything()[0]


def unreadable() -> list[tuple[str, str]]:
    """Folders that hold no run that can be shown, by name, each with a sentence that says why."""
    return everything()[1]


def everything() -> tuple[list[Run], list[tuple[str, str]]]:
    """The runs that can be read and the folders that cannot, in one look."""
    found, damaged = [], []
    for folder in folders():
        try:
            found.append(read_run(folder))
        except Unreadable as error:
            damaged.append((folder.name, str(error)))
        except FileNotFoundError:  # deleted while we look
            continue
    found.sort(key=lambda run: (run.created, run.id), reverse=True)
    return found, sorted(damaged)


def folders(beginning: str = "") -> list[Path]:
    """What has the name of a run and the files of one, or some of them."""
    try:
        with os.scandir(root()) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(beginning)]
    except OSError:
        return []
    folders = [root() / name for name in names if RUN_ID.fullmatch(name)]
    return [folder for folder in folders if any(_is_there(folder / file) for file in ("config.json", "status.json"))]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it may not even be looked for: reading it will tell
        return True


def read_run(folder: Path) -> Run:
    """The run in a folder. Raises Unreadable with a sentence, or FileNotFoundError if nothing is there."""
    try:
        recorded = json.loads((folder / "config.json").read_bytes())
        pair_id, preset, created, threads = (recorded[name] for name in ("pair", "preset", "created", "threads"))
        config = TrainConfig.from_dict(recorded["train"])
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise
        raise Unreadable("It has no config.json: perhaps it was only half deleted.") from error
    except OSError as error:
        raise Unreadable(f"Its config.json cannot be read. {why(error)}") from error
    except KeyError as error:
        raise Unreadable(f"Its config.json does not tell its {error.args[0]}.") from error
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Unreadable(f"Its config.json cannot be used: {error}") from error
    _check("pair", pair_id, isinstance(pair_id, str))
    _check("preset", preset, isinstance(preset, str))
    _check("created", created, is_a_time(created))
    _check("threads", threads, isinstance(threads, int) and not isinstance(threads, bool)
           and 1 <= threads <= MOST_THREADS)
    role = _role_of(recorded, config)
    status = read_status(folder)
    in_common = pair_id if pair_id and folder.name.startswith(pair_id) else folder.name  # it may have been renamed
    return Run(folder.name, folder, in_common, preset, float(created), threads, config,
               status.state, status.reason, status.since, role, as_mark(recorded.get("owner")))


def _role_of(recorded: dict[str, Any], config: TrainConfig) -> Role:
    """As it was recorded; without a record, that of twins which differ in flips."""
    if "role" not in recorded:
        return Role(FLIPS[config.flips], int(config.flips), "flips")
    try:
        role = Role(**recorded["role"])
    except TypeError as error:
        raise Unreadable("Its config.json cannot be used: its role is none.") from error
    for name, word in (("arm", role.arm), ("topic", role.topic), ("series", role.series)):
        _check(name, word, isinstance(word, str) and len(word) <= LONGEST_WORD)
    _check("side", role.side, isinstance(role.side, int) and 0 <= role.side < MOST_ARMS)
    return role


def _check(name: str, value: object, good: bool) -> None:
    if not good:
        raise Unreadable(f"Its config.json cannot be used: {name} is {str(value)[:40]!r}.")


# Making and removing them


def create(config: TrainConfig, preset: str = "", pair_id: str = "", folder: Path | None = None,
           threads: int | None = None, role: Role | None = None, owner: str = "") -> Path:
    """A new run folder, waiting to be resumed for the first time: a whole one, or none."""
    pair_id = pair_id or new_pair_id()
    folder = folder or root() / f"{pair_id}-{'flips' if config.flips else 'plain'}"
    threads = threads or limits.fair_threads()
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"A run has 1 to {MOST_THREADS} threads, not {threads}.")
    recorded = {"train": asdict(config), "preset": preset, "pair": pair_id, "created": time.time(),
                "threads": threads} | ({"role": asdict(role)} if role else {}) | ({"owner": owner} if owner else {})
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_status(folder, "stopped", "Not started yet.")
        write_atomically(folder / "config.json", json.dumps(recorded, indent=1).encode())
    except OSError:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def delete(run_id: str, even_if_active: bool = False) -> None:
    """Erase the folder with all that is in it; one whose run trains or waits only if told to."""
    remove(run_id, _erase, even_if_active)


def _erase(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:  # somebody else is at it as well
        shutil.rmtree(folder, ignore_errors=True)


def remove(run_id: str, take_away: Callable[[Path], None], even_if_active: bool) -> None:
    """End what is going on in a folder, then take it away."""
    folder = root() / run_id
    if not RUN_ID.fullmatch(run_id) or folder not in folders(run_id):
        raise gone(run_id)
    if read_status(folder).state in ACTIVE and not even_if_active:
        raise RunError("This run still trains, or waits for its turn. Stop it first, then delete it.")
    try:
        write_control(folder, "stop")
        patience = time.monotonic() + 10
        while is_locked(folder):
            if time.monotonic() > patience:
                raise RunError("The run is still busy and could not be deleted. Try again in a moment.")
            time.sleep(0.05)
        take_away(folder)
    except FileNotFoundError:  # somebody else was quicker
        pass
    except OSError as error:
        raise RunError(f"The run could not be deleted. {why(error)}") from error
    finally:
        feed.cache_clear()


def disk_used(folder: Path | None = None) -> int:
    """Bytes of one folder, or of all runs."""
    return limits.disk_used(folder or root())


# What a visitor may ask of a run


def resume(run_id: str, server: str, until_epoch: int | None = None) -> None:
    """Let a run go on, to its end or until an epoch is done; without a worker it waits for the server's."""
    folder = folder_of(run_id)
    write_control(folder, "run" if until_epoch is None else f"until {until_epoch}")
    if not is_locked(folder):
        write_status(folder, "queued", server=server)


def pause(run_id: str) -> None:
    write_control(folder_of(run_id), "pause")


def stop(run_id: str) -> None:
    write_control(folder_of(run_id), "stop")


def place_in_queue(run: Run) -> int:
    """1 for the run whose turn comes next."""
    return 1 + sum((since, run_id) < (run.since, run.id) for since, run_id, _ in waiting())


def waiting() -> list[tuple[float, str, str]]:
    """The queue: since when, which run, and for which server, in the order of their turns."""
    may_wait = (folder for folder in folders() if read_stored(folder).state in MAY_WAIT)
    found = ((folder.name, read_status(folder)) for folder in may_wait)
    return sorted((status.since, name, status.server) for name, status in found if status.state == "queued")


def busy() -> set[str]:
    """The runs that have a worker now, no matter who started it."""
    return {folder.name for folder in folders() if is_locked(folder)}
