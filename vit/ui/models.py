"""The models a visitor can look into, loaded once for all visitors."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import streamlit as st

from vit.drawing import Drawing, for_model

DEFAULT = "explorer"
_reader = ThreadPoolExecutor(1, "reader")  # each run of a page is a new thread, in which torch would start cold
NAMES = {"explorer": "explorer · trained", "untrained": "untrained · random weights"}


def name_of(model_id: str) -> str:
    if model_id in NAMES:
        return NAMES[model_id]
    run, _, checkpoint = model_id.removeprefix("run:").partition("/")
    return f"your run {run} · {checkpoint}"


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Import torch soon, but not now: first the browser shall get its page, then the first stroke need not wait."""
    threading.Timer(1.5, import_module, ["vit.trace"]).start()


@st.cache_resource(max_entries=8, show_spinner=False)
def load(model_id: str):
    """The model and its story. Raises ValueError or FileNotFoundError with a sentence if it cannot be had."""
    import torch

    from vit import checkpoints
    from vit.config import PRESETS
    from vit.model import VisionTransformer

    torch.set_num_threads(1)
    if model_id == "untrained":
        torch.manual_seed(0)
        model, story = VisionTransformer(PRESETS["article"]).eval().requires_grad_(False), {}
    else:
        path = path_of(model_id)
        model, story = checkpoints.load(path), checkpoints.story(path)
    gc.collect()
    gc.freeze()  # or each collection would visit torch's many objects again
    return model, story


def find(model_id: str) -> None:
    """Raises a sentence if there is no such model."""
    if model_id not in NAMES:
        path_of(model_id)


def path_of(model_id: str):
    """Where a model lies. An id may come from a link, so nothing but the known kinds is looked for."""
    from vit import checkpoints, runs

    if model_id in checkpoints.SHIPPED:
        return checkpoints.SHIPPED[model_id]
    if not model_id.startswith("run:"):
        raise ValueError(f"There is no model of the name {model_id[:40]!r}.")
    return runs.checkpoint_path(*model_id.removeprefix("run:").partition("/")[::2])


@st.cache_resource(max_entries=24, show_spinner=False)
def trace(model_id: str, drawing: Drawing, *interventions):
    """Everything the model computes for a drawing; the same drawing is never run twice in a row."""
    from vit.trace import trace_image

    model, _ = load(model_id)
    image = for_model(image_of(drawing), model.config)
    return _reader.submit(trace_image, model, image, *interventions).result()


@st.cache_resource(max_entries=8, show_spinner="Hiding each patch in turn …")
def occlusion(model_id: str, drawing: Drawing):
    from vit import explain

    model, _ = load(model_id)
    return explain.occlusion(trace(model_id, drawing), model)


def image_of(drawing: Drawing):
    """The 28x28 that the model reads; None if there is nothing to see on it."""
    found = ink_of(drawing)
    return found.image if found else drawing.image()


@st.cache_resource(max_entries=50, show_spinner=False)
def ink_of(drawing: Drawing):
    """How pen strokes became a picture; None for a picture that came whole."""
    return drawing.ink()
