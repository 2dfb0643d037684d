"""What a visitor has chosen: kept in the session under names of our own, and mirrored in the URL."""

import re
from dataclasses import dataclass
from typing import Any

import streamlit as st

from vit import drawing as drawings
from vit.drawing import Drawing
from vit.ui import models, what_if

HIDEABLE = ("sidebar", "tour", "share", "stepper", "try", "quiz", "maths")
COUNTED = ("layer", "head", "token")


@dataclass(frozen=True)
class Choice:
    """A visitor's choices; layer, head and token count from 0, and token 0 is CLS."""

    drawing: Drawing | None
    model: str
    layer: int
    head: int
    token: int
    hidden: frozenset[str]


def get() -> Choice:
    kept = st.session_state
    return Choice(kept.drawing, kept.model, kept.chosen_layer, kept.chosen_head, kept.chosen_token, kept.hidden)


def drawing() -> Drawing | None:
    chosen: Drawing | None = st.session_state.drawing
    return chosen


def model() -> str:
    return str(st.session_state.model)


def hides(part: str) -> bool:
    """Whether a teacher's link hides this part of the page."""
    return part in st.session_state.hidden


def choose(**changes: Any) -> None:
    for name, value in changes.items():
        st.session_state[f"chosen_{name}" if name in COUNTED else name] = value


def draw(chosen: Drawing | None) -> None:
    st.session_state.drawing = chosen


def restore() -> None:
    """At a session's first run: what the link asks for, and a polite sentence where it makes no sense."""
    if st.session_state.get("restored"):
        return
    asked = st.query_params.to_dict()
    st.session_state.notices = []
    st.session_state.hidden = frozenset(asked.get("hide", "").split(",")) & set(HIDEABLE)
    choose(drawing=None, model=asked.get("model", models.DEFAULT), layer=0, head=0, token=0)
    try:
        models.find(st.session_state.model)
    except (ValueError, FileNotFoundError) as error:
        notice(f"{error} You see the explorer's own model instead.")
        choose(model=models.DEFAULT)
    if "d" in asked:
        try:
            choose(drawing=drawings.from_code(asked["d"]))
        except drawings.BadDrawing as error:
            notice(f"{error} You start with an empty canvas.")
    for name in COUNTED:
        if name not in asked:
            continue
        if re.fullmatch(r"\d{1,4}", asked[name]):
            choose(**{name: max(0, int(asked[name]) - (name != "token"))})
        else:
            notice(f"The link asks for a {name} that does not exist. You start with the first.")
    if "off" in asked and not what_if.restore(asked["off"]):
        notice("The link takes something away that does not exist. The rest is as it asks.")
    st.session_state.restored = True  # last: a run that is cut off before this begins anew


def notice(sentence: str) -> None:
    st.session_state.notices.append(sentence)


def settle() -> None:
    """Make the choices fit what is there: a model may have gone, another may have fewer layers, heads or patches."""
    if st.session_state.drawing is None:
        return
    try:
        config = models.load(model()).model.config
    except (ValueError, FileNotFoundError) as error:
        if model() == models.DEFAULT:
            raise
        notice(f"{error} You see the explorer's own model instead.")
        choose(model=models.DEFAULT)
        config = models.load(models.DEFAULT).model.config
    for name, size in {"layer": config.depth, "head": config.heads, "token": config.tokens}.items():
        if st.session_state[f"chosen_{name}"] >= size:
            choose(**{name: size - 1})


def link_parameters() -> dict[str, str]:
    """The choices that differ from a first visit, as they stand in a link. Layers and heads count from 1."""
    now = get()
    parameters = {
        "d": now.drawing.code if now.drawing else "",
        "model": now.model if now.model != models.DEFAULT else "",
        "layer": str(now.layer + 1) if now.layer else "",
        "head": str(now.head + 1) if now.head else "",
        "token": str(now.token) if now.token else "",
        "off": what_if.as_code(),
        "hide": ",".join(sorted(now.hidden)),
    }
    return {name: value for name, value in parameters.items() if value}


def write_url() -> None:
    """Keep the address bar true, so that a reload or a copied address brings everything back."""
    now = st.query_params.to_dict()
    others = {name: value for name, value in now.items() if name not in ("d", "model", *COUNTED, "off", "hide")}
    true = others | link_parameters()
    if now != true:
        st.query_params.from_dict(true)  # all at once: one step for the Back button, not six
