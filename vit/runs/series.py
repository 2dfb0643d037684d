"""Runs that belong together: every arm with every one of several seeds, in the queue like all others.

A series is no file of its own. Each of its runs is a folder of the usual kind that names its series and its arm, and
the arms of one seed are a pair; so it can be watched, stopped and deleted as a whole or one by one.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import vit.runs.asking as asking
import vit.runs.folder as folders
import vit.runs.pairs as pairs
from vit.runs.folder import LONGEST_WORD, Run, Unreadable
from vit.runs.limits import RunError
from vit.runs.metrics import last_verdict
from vit.runs.names import RUN_ID, new_pair_id, of_seed
from vit.runs.owners import Visitor
from vit.runs.pairs import Arms
from vit.runs.queue import dispatcher

ENDED = ("done", "stopped", "failed", "interrupted")

Values = dict[str, dict[int, float]]  # arm to seed to value, as vit/studies judges them


def final_accuracy(run: Run) -> float | None:
    """In percent, of a run that has come to its end; one that diverged counts with its last validation."""
    if not came_to_its_end(run):
        return None
    verdict = last_verdict(run.folder)
    return 100 * verdict.accuracy if verdict else None


def came_to_its_end(run: Run) -> bool:
    if run.state != "failed":
        return run.state == "done"
    from vit.training import NO_NUMBER

    return NO_NUMBER in run.reason


@dataclass(frozen=True)
class Series:
    """How a series stands now."""

    id: str
    runs: tuple[Run, ...]  # seed by seed, the arms of each in their order
    faults: tuple[tuple[str, str], ...] = ()  # folders of it that cannot be read, each with a sentence

    @property
    def topic(self) -> str:
        return self.runs[0].role.topic if self.runs else ""

    @property
    def arms(self) -> list[str]:
        names = {run.role.side: run.role.arm for run in self.runs}
        return [names[side] for side in sorted(names)]

    @property
    def seeds(self) -> list[int]:
        return sorted({run.config.seed for run in self.runs})

    @property
    def moving(self) -> bool:
        """Whether there is more to come by itself."""
        return any(run.active for run in self.runs)

    @property
    def ended(self) -> int:
        """How many runs have nothing more to come, unless somebody resumes them."""
        return sum(run.state in ENDED for run in self.runs)

    def run(self, arm: str, seed: int) -> Run | None:
        return next((run for run in self.runs if (run.role.arm, run.config.seed) == (arm, seed)), None)

    def values(self, measure: Callable[[Run], float | None] = final_accuracy) -> Values:
        """What is measured of each run, for all that have it; arms without any are there as well."""
        found: Values = {arm: {} for arm in self.arms}
        for run in self.runs:
            value = measure(run)
            if value is not None:
                found[run.role.arm][run.config.seed] = value
        return found


# Making them


def create(arms: Arms, seeds: Iterable[int], *, topic: str = "", preset: str = "", series_id: str = "",
           owner: str = "") -> str:
    """All arms with all seeds wait for their turn, seed by seed. Returns the name of the series.

    The name of one that is there lets more seeds join it. What would not fit is refused by RunError, a sentence, and
    nothing is left of it.
    """
    wanted = sorted(set(seeds))
    there = read(series_id) if series_id else None
    _check_names(arms, wanted, topic, there)
    pairs.check(arms, len(wanted), owner)
    series_id = series_id or new_pair_id()
    made: list[str] = []
    try:
        for seed in wanted:
            of_this_seed = {name: replace(config, seed=seed) for name, config in arms.items()}
            made += pairs.create_arms(of_this_seed, preset, of_seed(series_id, seed), topic, series_id, owner)
        dispatcher().start(*made)
    except (RunError, OSError):
        for run_id in made:
            with contextlib.suppress(RunError, OSError):
                folders.delete(run_id, even_if_active=True)
        raise
    return series_id


def _check_names(arms: Arms, seeds: list[int], topic: str, there: Series | None) -> None:
    if not arms or not seeds:
        raise RunError("A series needs at least one arm and one seed.")
    if any(len(word) > LONGEST_WORD for word in (topic, *arms)):
        raise RunError(f"Names of arms and topics have at most {LONGEST_WORD} characters.")
    twice = sorted(set(seeds) & set(there.seeds)) if there else []
    if twice:
        raise RunError(f"Seed {twice[0]} is in this series already.")


# Finding them


def read(series_id: str) -> Series | None:
    """How it stands; None if nothing is left of it, or there never was one."""
    if not RUN_ID.fullmatch(series_id):
        return None
    found, faults = [], []
    for folder in folders.folders(f"{series_id}-s"):
        try:
            found.append(folders.read_run(folder))
        except Unreadable as error:
            faults.append((folder.name, str(error)))
        except FileNotFoundError:  # deleted while we look
            continue
    ours = sorted((run for run in found if run.role.series == series_id),
                  key=lambda run: (run.config.seed, run.role.side))
    return Series(series_id, tuple(ours), tuple(sorted(faults))) if ours or faults else None


def find(topic: str) -> list[str]:
    """The names of all series about a topic, newest first."""
    return list(dict.fromkeys(run.role.series for run in folders.list_runs()
                              if run.role.series and run.role.topic == topic))


# What may be asked of them


def stop(series_id: str, by: Visitor | None = None) -> None:
    """What has not ended ends, in good order; what was measured stays. A visitor has to be one who may."""
    found = read(series_id)
    going_on = unfinished(found) if found else []
    if by:
        asking.check(by, *(run.id for run in going_on))
    for run in going_on:
        with contextlib.suppress(FileNotFoundError):
            folders.stop(run.id)


def unfinished(found: Series) -> list[Run]:
    return [run for run in found.runs if run.state not in ENDED]


def resume(series_id: str, by: Visitor | None = None) -> None:
    """What was stopped, or held up, waits for its turn again."""
    found = read(series_id)
    waiting = [run.id for run in held_up(found)] if found else []
    if by:
        asking.check(by, *waiting)
    dispatcher().start(*waiting)


def held_up(found: Series) -> list[Run]:
    return [run for run in found.runs if run.resumable and not came_to_its_end(run)]


def delete(series_id: str) -> None:
    """All its folders, also those that cannot be read, whatever they are doing."""
    found = read(series_id)
    if not found:
        raise FileNotFoundError(f"There is no series {series_id[:80]!r}; it may have been deleted.")
    stop(series_id)  # all at once: deleting waits for each worker
    for run_id in (*(run.id for run in found.runs), *(name for name, _ in found.faults)):
        with contextlib.suppress(FileNotFoundError):
            folders.delete(run_id, even_if_active=True)
