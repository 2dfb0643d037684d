"""How long one run or many would take here: by earlier runs, or tried once for each shape of a model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from vit import runs
from vit.config import TrainConfig
from vit.runs import estimates

if TYPE_CHECKING:
    from vit.speed import Speed

LOOK_AGAIN_AFTER = 20  # seconds; to read all runs at every click would be slow


def images_per_second(config: TrainConfig) -> float | None:
    """That one run learns from with a core to itself; None if the model is too large to try."""
    kind = TrainConfig(model=config.model, dataset=config.dataset, batch_size=config.batch_size,
                       optimizer=config.optimizer, clip_norm=config.clip_norm, compile=config.compile,
                       augmentation=config.augmentation)
    return _experienced(str(runs.root()), kind) or _measured(kind)


def seconds(config: TrainConfig) -> float | None:
    """Of one run with a core to itself, to the last of its epochs."""
    per_second = images_per_second(config)
    return estimates.work(config) / per_second if per_second else None


def seconds_of_all(configs: Sequence[TrainConfig]) -> float | None:
    """Of many runs, as many at once as there are workers, if nobody else trains."""
    each = [seconds(config) for config in configs]
    return estimates.together([one for one in each if one is not None]) if None not in each else None


@st.cache_data(max_entries=256, ttl=LOOK_AGAIN_AFTER, show_spinner=False)
def _experienced(root: str, kind: TrainConfig) -> float | None:
    """Once for a while; `root` is where runs lie, which tells one server's runs from another's."""
    return estimates.experienced(kind, runs.list_runs())


def _measured(config: TrainConfig) -> float | None:
    from vit.speed import MOST_IMAGES  # a step with more would have no other speed

    of_any_depth = config.model.variant != "cnn"
    shape = replace(config.model, depth=1) if of_any_depth else config.model
    speed = speed_of(TrainConfig(
        model=shape, dataset=config.dataset, optimizer=config.optimizer, clip_norm=config.clip_norm,
        batch_size=min(config.batch_size, MOST_IMAGES),
    ))
    return speed.images_per_second(config.model.depth, config.batch_size) if speed else None


@st.cache_data(max_entries=64, ttl=600, show_spinner="Measuring how fast this machine is …")
def speed_of(config: TrainConfig) -> "Speed | None":
    """Once for each shape: of the depth and the batch size no more than is tried is in `config`."""
    from vit import speed

    return speed.measure(config)
