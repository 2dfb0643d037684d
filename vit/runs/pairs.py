"""Runs that are compared with one another: made together or not at all, and found together again."""

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import replace

import vit.runs.asking as asking
import vit.runs.deleted as deleted
import vit.runs.folder as folders
import vit.runs.limits as limits
from vit.config import TrainConfig
from vit.files import why
from vit.runs.folder import FLIPS, Role, Run, Unreadable
from vit.runs.limits import RunError
from vit.runs.names import RUN_ID, new_pair_id, pair_of, slug
from vit.runs.status import root

Arms = Mapping[str, TrainConfig]  # by name, in the order in which they are shown

FOLDER_NAMES = {FLIPS[False]: "plain", FLIPS[True]: "flips"}  # as they have always been


def create_twins(config: TrainConfig, preset: str = "") -> str:
    """Two runs that differ in flipping alone; returns what their names have in common."""
    return create_pair({FLIPS[flips]: replace(config, flips=flips) for flips in (False, True)}, preset, "flips")


def create_pair(arms: Arms, preset: str = "", topic: str = "", owner: str = "") -> str:
    """A run for each arm, side by side; returns what their names have in common."""
    check(arms, 1, owner)
    pair_id = new_pair_id()
    create_arms(arms, preset, pair_id, topic, owner=owner)
    return pair_id


def check(arms: Arms, pairs: int, owner: str = "") -> None:
    """Refuse in a sentence what would not fit here, so many times over."""
    check_queue(owner, pairs)
    limits.check_memory(2 * max(config.memory for config in arms.values()))
    limits.check_disk(root(), pairs * sum(config.disk for config in arms.values()), deleted.size())


def check_queue(owner: str, more: int = 1, but: str = "") -> None:
    """Refuse what may not wait, or no more of it from this owner; `but` is a pair that does not count."""
    limits.check_queue(len(waiting_pairs() - {but}), more)
    if owner:
        limits.check_share(len(waiting_pairs(owner) - {but}), more)


def create_arms(arms: Arms, preset: str, pair_id: str, topic: str, series: str = "", owner: str = "") -> list[str]:
    """The folders of one pair, all of them or none; returns their names."""
    made = []
    try:
        for side, (name, config) in enumerate(arms.items()):
            place = root() / f"{pair_id}-{FOLDER_NAMES.get(name, slug(name))}"
            if place in made:  # two arms whose names begin alike
                place = place.with_name(f"{place.name}-{side + 1}")
            made.append(folders.create(config, preset, pair_id, place, role=Role(name, side, topic, series),
                                       owner=owner))
    except OSError as error:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        raise RunError(f"The run could not be started. {why(error)}") from error
    return [folder.name for folder in made]


def pair(pair_id: str) -> list[Run]:
    """The runs of a pair, as they are shown: the one that the others are compared with comes first."""
    if not RUN_ID.fullmatch(pair_id):
        return []
    found = []
    for folder in folders.folders(pair_id):
        with contextlib.suppress(Unreadable, FileNotFoundError):
            found.append(folders.read_run(folder))
    return sorted((run for run in found if run.pair == pair_id), key=lambda run: run.role.side)


def waiting_pairs(owner: str = "") -> set[str]:
    """All that wait for their turn, or those of one owner."""
    return {pair_of(run_id) for _, run_id, _ in folders.waiting() if not owner or asking.owner_of(run_id) == owner}


def room_in_queue(owner: str = "") -> int:
    """How many more pairs may wait now, of this owner if there is one."""
    room = limits.max_waiting() - len(waiting_pairs())
    return max(0, min(room, limits.max_waiting_each() - len(waiting_pairs(owner))) if owner else room)
