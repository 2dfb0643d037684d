"""The models a visitor can look into, and what they make of a drawing: computed once for all visitors, and kept in
memory as far as it fits. Models may come from anybody's runs, so their size is looked at first."""

import gc
import json
import re
import threading
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st

from vit.caches import SizedCache
from vit.calibration import Calibration, beside
from vit.details import Details
from vit.drawing import Drawing, for_model
from vit.drawing.ink import Ink
from vit.environment import whole_number
from vit.reader import CannotRead, Reader
from vit.shipped import SHIPPED

if TYPE_CHECKING:
    from vit.config import ViTConfig
    from vit.model import Probe, VisionTransformer
    from vit.trace import ForwardTrace

DEFAULT = "explorer"
RECORDED = {"article": "the article's model", "article-flips": "its twin with flips"}
TRAINED = {"explorer": "explorer · trained", "photos": "photos · trained", **RECORDED}
NAMES = {**{name: words for name, words in TRAINED.items() if name in SHIPPED},
         "untrained": "untrained · random weights"}
OWN = "own:"  # ids of models from the host's folder begin so
MB = 1_000_000
MOST_OF_A_TRACE = 200 * MB


class Loaded(NamedTuple):
    model: "VisionTransformer"
    details: Details


def _size_of_model(loaded: Loaded) -> int:
    return sum(parameter.nbytes for parameter in loaded.model.parameters())


def _size_of_trace(trace: "ForwardTrace") -> int:
    values = [*vars(trace).values(), *(value for block in trace.blocks for value in vars(block).values())]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


_models = SizedCache(whole_number("PATCHWISE_MODELS_MB", 1_500) * MB, _size_of_model)
_traces = SizedCache(whole_number("PATCHWISE_TRACES_MB", 400) * MB, _size_of_trace)
_measured: SizedCache[np.ndarray] = SizedCache(2 * MB, lambda values: values.nbytes)
_thread = ThreadPoolExecutor(1, "reader")  # each run of a page is a new thread, in which torch would start cold
_process = Reader()


def name_of(model_id: str) -> str:
    if model_id in NAMES:
        return NAMES[model_id]
    if model_id.startswith(OWN):
        return model_id.removeprefix(OWN)
    from vit.runs.names import in_short

    run, _, checkpoint = model_id.removeprefix("run:").partition("/")
    return f"run {in_short(run)} · {re.sub('epoch-0*(?=[0-9])', 'epoch ', checkpoint)}"


@cache
def warm_up() -> None:
    """Import torch soon, but not now: first the browser shall get its page, then the first stroke need not wait."""
    threading.Timer(1.5, import_module, ["vit.trace"]).start()
    if _reads_elsewhere():
        threading.Timer(4.0, _process.start).start()  # it may wake up when the first page is there


def _reads_elsewhere() -> bool:
    return whole_number("PATCHWISE_READER", 1) > 0


def forget() -> None:
    """Make room: all that is needed again will be loaded and computed again."""
    for kept in (_models, _traces, _measured):
        kept.clear()


# Models


def choices() -> list[str]:
    """What the sidebar offers before a visitor has opened a run's model."""
    from vit.checkpoints import own_models

    return [*NAMES, *(OWN + name for name in own_models())]


def shipped_for_photos() -> str:
    """The first model that ships and reads colours, if there is one."""
    return next(filter(is_for_photos, NAMES), "")


def is_for_photos(name: str) -> bool:
    """Of a model of ours: whether it reads colours."""
    return name in SHIPPED and _reads_colours(SHIPPED[name])


@lru_cache
def _reads_colours(path: Path) -> bool:
    """By the file's header alone, for a page that need not wait for torch."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return bool(json.loads(header["__metadata__"]["config"])["channels"] > 1)


def twins_of(model_id: str) -> list[str]:
    """What a run's twin was after the same epoch."""
    from vit import runs

    run, _, stem = model_id.removeprefix("run:").partition("/")
    if not model_id.startswith("run:"):
        return []
    try:
        twins = runs.pair(runs.get(run).pair)
    except (FileNotFoundError, runs.Unreadable):
        return []
    return [f"run:{twin.id}/{stem}" for twin in twins if twin.id != run and stem in twin.checkpoints]


def find(model_id: str) -> None:
    """Raises a sentence if there is no such model."""
    if model_id not in NAMES:
        path_of(model_id)


def path_of(model_id: str) -> Path:
    """Where a model lies. An id may come from a link, so nothing but the known kinds is looked for."""
    from vit import checkpoints, runs

    if model_id in checkpoints.SHIPPED:
        return checkpoints.SHIPPED[model_id]
    own = checkpoints.own_models() if model_id.startswith(OWN) else {}
    if (name := model_id.removeprefix(OWN)) in own:
        return own[name]
    if not model_id.startswith("run:"):
        raise ValueError(f"There is no model of the name {model_id[:40]!r}.")
    return runs.checkpoint_path(*model_id.removeprefix("run:").partition("/")[::2])


def load(model_id: str) -> Loaded:
    """Raises ValueError or FileNotFoundError with a sentence if it cannot be had."""
    return _models.get(identity(model_id), lambda: _load(model_id))


def identity(model_id: str) -> Hashable:
    """What tells a model from one that had the same name before."""
    if model_id == "untrained":
        return model_id
    from vit.runs import fingerprint

    path = path_of(model_id)
    return str(path), fingerprint(path)


def _load(model_id: str) -> Loaded:
    import torch

    from vit import checkpoints
    from vit.config import PRESETS
    from vit.model import VisionTransformer
    from vit.trace import NUMBER, trace_bytes

    torch.set_num_threads(1)
    if model_id == "untrained":
        model, details = VisionTransformer(PRESETS["article"], torch.Generator().manual_seed(0)), Details()
        model.eval().requires_grad_(False)
    else:
        path = path_of(model_id)
        config = checkpoints.config_of(path)
        if (size := max(path.stat().st_size, NUMBER * config.parameters)) > _models.most_bytes:
            raise ValueError(f"The weights of {name_of(model_id)} take {size / MB:,.0f} MB, and "
                             f"{_models.most_bytes / MB:,.0f} MB is the most that can be looked into here.")
        if (size := trace_bytes(config)) > MOST_OF_A_TRACE:
            raise ValueError(f"{name_of(model_id)} is too large to look into: of one drawing it would leave "
                             f"{size / MB:,.0f} MB of numbers, and {MOST_OF_A_TRACE / MB:,.0f} MB is the most.")
        model, details = checkpoints.load(path), checkpoints.details(path)
    _spare_the_collector()
    return Loaded(model, details)


@cache
def _spare_the_collector() -> None:
    """Once torch is there: or each collection would visit its many objects again."""
    gc.collect()
    gc.freeze()


# What a model makes of a drawing


def trace(model_id: str, drawing: Drawing, *interventions: "Probe") -> "ForwardTrace":
    """Everything the model computes for a drawing; the same drawing is never run twice in a row."""
    def make() -> "ForwardTrace":
        from vit.trace import trace_image

        loaded = load(model_id)
        image = seen(drawing, loaded)
        if image is None:
            raise ValueError("There is nothing to see on this drawing.")
        return _thread.submit(trace_image, loaded.model, image, *interventions).result()

    return _traces.get((identity(model_id), drawing, repr(interventions)), make)


def probabilities(model_id: str, drawing: Drawing, image: np.ndarray) -> np.ndarray:
    """What a model answers to a drawing, without the way there."""
    key = identity(model_id), drawing, "answer"
    return _measured.get(key, lambda: answer(model_id, image))


def answer(model_id: str, image: np.ndarray) -> np.ndarray:
    """The probabilities alone, of a picture that may be another in a moment: nothing is kept."""
    from vit.runs import fingerprint
    from vit.trace import probabilities_of

    if model_id != "untrained" and _reads_elsewhere():
        path = path_of(model_id)
        try:
            return _process.probabilities(path, fingerprint(path), image)
        except CannotRead:
            _process.start()
    return _thread.submit(probabilities_of, load(model_id).model, image).result()


def occlusion(model_id: str, drawing: Drawing) -> np.ndarray:
    """What the answer loses without each patch."""
    def make() -> np.ndarray:
        from vit import explain

        with st.spinner("Hiding each patch in turn …"):
            return explain.occlusion(trace(model_id, drawing), load(model_id).model)

    return _measured.get((identity(model_id), drawing, "patches"), make)


def without_each_head(model_id: str, drawing: Drawing) -> np.ndarray:
    """The probabilities that are left without each single head: (L, h, classes)."""
    def make() -> np.ndarray:
        from vit import explain

        with st.spinner("Switching off each head in turn …"):
            return explain.without_each_head(trace(model_id, drawing), load(model_id).model)

    return _measured.get((identity(model_id), drawing, "heads"), make)


def conv2d_difference(model_id: str, drawing: Drawing) -> float:
    """Between the embedding as it is and as a convolution."""
    def make() -> np.ndarray:
        from vit import explain

        return np.array(explain.conv2d_difference(load(model_id).model, trace(model_id, drawing).image))

    return float(_measured.get((identity(model_id), drawing, "conv2d"), make))


def calibration(model_id: str) -> Calibration | None:
    """How often it is right when it is how sure, where that was recorded beside its weights."""
    return None if model_id == "untrained" else beside(path_of(model_id))


def seen(drawing: Drawing, loaded: Loaded) -> np.ndarray | None:
    """What a model gets of a drawing, or of a photo; None if there is nothing to see on it."""
    config = loaded.model.config
    if drawing.kind == "photo":
        return _seen_photo(drawing, config, interpolation(loaded.details))
    image = image_of(drawing)
    return None if image is None else for_model(image, config)


def interpolation(details: Details) -> str:
    """How a photo is scaled for a model: as its makers do."""
    return details.preparation.interpolation if details.preparation else "bicubic"


@lru_cache(50)
def _seen_photo(drawing: Drawing, config: "ViTConfig", interpolation: str) -> np.ndarray | None:
    image = drawing.image()
    return None if image is None else for_model(image, config, interpolation)


def image_of(drawing: Drawing) -> np.ndarray | None:
    """The 28x28 that the model reads; None if there is nothing to see on it."""
    found = ink_of(drawing)
    return found.image if found else drawing.image()


@lru_cache(50)
def ink_of(drawing: Drawing) -> Ink | None:
    """How pen strokes became a picture; None for a picture that came whole."""
    return drawing.ink()
