"""The twins that a visitor looks at: which they are, how they stand now, and what can be asked of them."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from vit import compare, data, runs
from vit.compare import Verdicts
from vit.config import TrainConfig
from vit.datasets import DATASETS
from vit.reports import Report
from vit.runs import Arms, Run, series
from vit.runs.queue import dispatcher
from vit.studies import questions
from vit.studies.questions import Question
from vit.ui import visitor

MOVING = (*runs.ACTIVE, "paused")  # what a worker may change at any moment: one that pauses still listens


@dataclass(frozen=True)
class Twins:
    """Two runs that differ in one thing; or a single one, from the command line."""

    pair: str
    runs: list[Run]
    reports: list[list[Report]]

    @property
    def config(self) -> TrainConfig:
        return self.runs[0].config

    @property
    def complete(self) -> bool:
        return [run.role.side for run in self.runs] == [0, 1]

    @property
    def question(self) -> Question:
        """What both were made for; only of complete twins."""
        return questions.told_by(self.runs[0].role.topic, [run.role.arm for run in self.runs])

    @property
    def arms(self) -> dict[str, TrainConfig]:
        return {run.role.arm: run.config for run in self.runs}

    @property
    def moving(self) -> bool:
        return self.any_in(*MOVING)

    @property
    def checkpoints(self) -> list[str]:
        """The epochs whose weights all of them have kept."""
        kept = [set(run.checkpoints) for run in self.runs]
        return sorted(set.intersection(*kept))

    @property
    def outline(self) -> tuple[tuple[str, ...], ...]:
        """What the whole page depends on: when it changes, all of the page has something new to show."""
        return tuple((run.id, run.state, *run.checkpoints) for run in self.runs)

    def any_in(self, *states: str) -> bool:
        return any(run.state in states for run in self.runs)


def read(pair_id: str) -> Twins | None:
    found = runs.pair(pair_id)
    return Twins(pair_id, found, [runs.feed(run.folder).read() for run in found]) if found else None


# Which pair this visitor looks at


def current() -> Twins | None:
    if "train_pair" not in st.session_state:
        st.session_state.train_pair = st.query_params.get("run")
    pair_id = st.session_state.train_pair
    twins = read(pair_id) if pair_id else None
    if pair_id and not twins:
        st.warning("That run is not here any more. It may have been deleted.")
    look_at(twins.pair if twins else None)
    return twins


def look_at(pair_id: str | None) -> None:
    st.session_state.train_pair = pair_id
    if pair_id:
        st.query_params["run"] = pair_id
    elif "run" in st.query_params:
        del st.query_params["run"]


# What can be asked


def fault() -> str:
    """Why nothing can be trained here now, as a sentence; nothing if all is well."""
    found = dispatcher()
    found.expect_a_start()
    return found.problem


def start(arms: Arms, preset: str, topic: str) -> None:
    """New twins for this visitor; their own last ones stop if they still train, those of others go on."""
    me, twins = visitor.me(), list[Run]()
    try:
        pair_id = runs.create_pair(arms, preset, topic, me.mark)
        twins = runs.pair(pair_id)
        dispatcher().start(*(run.id for run in twins))
    except (runs.RunError, OSError) as error:
        for run in twins:
            with contextlib.suppress(runs.RunError, OSError):
                runs.delete(run.id, even_if_active=True)
        refuse(error)
        return
    if before := st.session_state.get("train_started"):
        repeated = series.read(before)
        attempt(runs.stop, *(run.id for run in (*runs.pair(before), *(repeated.runs if repeated else ()))
                             if run.state in MOVING and run.owner == me.mark))
    st.session_state.train_pair = st.session_state.train_started = pair_id


def ask(action: Callable[[str], None], *run_ids: str) -> None:
    """Of runs that this visitor may control: whoever may not is refused, though a button was there to click."""
    try:
        runs.ask(visitor.me(), action, *run_ids)
    except (runs.RunError, runs.Unreadable, OSError) as error:
        refuse(error)


def attempt(action: Callable[[Any], None], *things: Any) -> None:
    """Another visitor may have deleted the run in the meantime."""
    try:
        for thing in things:
            action(thing)
    except (runs.RunError, OSError) as error:
        refuse(error)


def refuse(error: Exception) -> None:
    """Keep the sentence for the next time that the whole page is shown."""
    st.session_state.train_problem = str(error)


# What both were judged on


@dataclass(frozen=True)
class Judged:
    """The latest verdicts on both twins, and the images behind them."""

    verdicts: Verdicts
    images: np.ndarray
    labels: np.ndarray


def judge(twins: Twins) -> Judged | None:
    verdicts = compare.latest_verdicts(*twins.reports) if twins.complete else None
    if verdicts is None:
        return None
    found = validation_images(twins.config, verdicts[0].images)
    if found is None:
        title = DATASETS[twins.config.dataset].title
        st.warning(f"{title} is no longer on this server, so answers cannot be compared.")
        return None
    images, labels = found
    if not compare.fit(verdicts, labels, len(DATASETS[twins.config.dataset].classes)):
        return None
    return Judged(verdicts, images, labels)


def validation_images(config: TrainConfig, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The images, and their labels, behind a verdict on so many; None if they are not on this server."""
    if data.needs_download(config.dataset):
        return None
    try:
        images, labels, glance = data.load_validation(config.dataset, config.validation_images)
    except (data.DataUnavailable, OSError):
        return None
    return (images, labels) if count == len(labels) else (images[glance], labels[glance])
