"""What a visitor has chosen: kept in the session under names of our own, and mirrored in the URL."""

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from vit import drawing as drawings
from vit.drawing import Drawing
from vit.ui import beside, models, photos, what_if

if TYPE_CHECKING:
    from vit.config import ViTConfig

HIDEABLE = ("sidebar", "tour", "share", "stepper", "try", "quiz", "maths")
COUNTED = ("layer", "head", "token")
# What can be chosen on one page only: the token that is looked at, and one of many numbers.
ON_PAGE = {"attention": ("at",), "embedding": ("output",), "layers": ("number", "unit"), "logits": ("class",)}
KEPT_AS = {"at": "chosen_key", "output": "chosen_output", "number": "chosen_number", "unit": "chosen_unit",
           "class": "chosen_class"}
FROM_ZERO = ("token", "at", "class")  # token 0 is CLS, class 0 the digit 0; all else is counted from 1 in a link
SCALES = ("own", "shared")  # of the maps on Attention
OURS = ("d", "model", *COUNTED, *KEPT_AS, "panel", "scale", "off", "hide", "with")
HISTORY = 60  # addresses remembered: browsers keep fewer


@dataclass(frozen=True)
class Choice:
    """A visitor's choices; layer, head and token count from 0, and token 0 is CLS."""

    drawing: Drawing | None
    model: str
    layer: int
    head: int
    token: int
    hidden: frozenset[str]
    beside: str  # another model or drawing to compare with, as a code; empty for none


def get() -> Choice:
    kept = st.session_state
    return Choice(kept.drawing, kept.model, kept.chosen_layer, kept.chosen_head, kept.chosen_token, kept.hidden,
                  kept.beside)


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


def reads_colours() -> bool:
    """Whether the model is one for photos, and not for what is drawn in white ink."""
    return bool(st.session_state.reads_colours)


def shown_to(colours: bool) -> Drawing | None:
    """The visitor's photo, or drawing: what models of the other kind are shown is put aside meanwhile."""
    if colours == reads_colours():
        return drawing()
    kept: Drawing | None = st.session_state.set_aside.get(colours)
    return kept


# The open panel of each page


def panel(names: list[str]) -> str:
    """Which of this page's panels is open: the one that the visitor or the link has chosen, else the first."""
    slug = st.session_state.panels.get(st.session_state.page)
    found = next((name for name in names if slug_of(name) == slug), None)
    if slug and not found:
        del st.session_state.panels[st.session_state.page]
        st.warning("The link asks for a panel that this page does not have. You see the first.")
    return found or names[0]


def open_panel(name: str, names: list[str]) -> None:
    """The first needs no word in a link."""
    st.session_state.panels[st.session_state.page] = slug_of(name) if name != names[0] else ""


def slug_of(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))


# From the address


def restore(page: str) -> None:
    """At a session's first run: what the link asks for, and a polite sentence where it makes no sense. Later, where the
    browser's Back and Forward lead: a choice that the visitor made before."""
    asked = st.query_params.to_dict()
    if not st.session_state.get("restored"):
        st.session_state.update(notices=[], panels={}, addresses={}, set_aside={}, reads_colours=None, drawing=None)
        _adopt(asked, page)
        st.session_state.restored = True  # last: a run that is cut off before this begins anew
    elif came_by_history() and _address(page, asked) in st.session_state.addresses:
        _adopt(asked, page)
        if page == "train":
            st.session_state.train_pair = asked.get("run")


def came_by_history() -> bool:
    """Whether the browser's Back or Forward asks for this run. An address that differs from ours does not tell: the
    menu leads to pages without their parameters, and a quick click comes before the last address has arrived."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def _address(page: str, parameters: dict[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return page, frozenset((name, value) for name, value in parameters.items() if name in OURS)


def _adopt(asked: dict[str, str], page: str) -> None:
    kept = st.session_state
    kept.asked = {}  # what makes sense or not is known only with the model
    hidden = set(filter(None, asked.get("hide", "").split(",")))
    kept.hidden = frozenset(hidden & set(HIDEABLE))
    if hidden - set(HIDEABLE):
        notice(f"The link hides something that cannot be hidden. What can be: {', '.join(HIDEABLE)}.")
    _put_aside()
    choose(drawing=None, model=asked.get("model", models.DEFAULT), layer=0, head=0, token=0,
           beside=asked.get("with", ""))
    try:
        models.find(model())
    except (ValueError, FileNotFoundError) as error:
        notice(f"{error} You see the explorer's own model instead.")
        choose(model=models.DEFAULT)
    if "d" in asked:
        try:
            choose(drawing=drawings.from_code(asked["d"]))
        except drawings.BadDrawing as error:
            notice(f"{error} You start with an empty canvas.")
    for name in (*COUNTED, *KEPT_AS):
        if name in asked or name in ON_PAGE.get(page, ()):
            _adopt_number(name, asked.get(name))
    try:
        beside.find(kept.beside or models.DEFAULT)
    except (ValueError, FileNotFoundError) as error:
        notice(f"{error} Nothing stands beside yours.")
        choose(beside="")
    if "scale" in asked or page == "attention":
        kept.shared_scale = asked.get("scale") == SCALES[1]
        if asked.get("scale", SCALES[0]) not in SCALES:
            notice("The link asks for a scale that does not exist. Each map has its own.")
    kept.panels[page] = asked.get("panel", "")[:40]
    if not what_if.restore(asked.get("off", "")) and "off" in asked:
        notice("The link takes something away that does not exist. The rest is as it asks.")
    if "off" in asked:
        kept.asked["off"] = 0


def _adopt_number(name: str, asked: str | None) -> None:
    key = KEPT_AS.get(name, f"chosen_{name}")
    if name in KEPT_AS:
        st.session_state.pop(key, None)
    if asked is None:
        return
    first = 0 if name in FROM_ZERO else 1
    if not re.fullmatch(r"\d{1,4}", asked, re.ASCII) or int(asked) < first:
        notice(f"The link asks for a {name} that does not exist. You start with the first.")
        return
    number = int(asked) - first
    st.session_state[key] = (st.session_state.drawing.code, number) if name == "class" and drawing() else number
    st.session_state.asked[name] = number


def notice(sentence: str) -> None:
    st.session_state.notices.append(sentence)


def settle() -> None:
    """Make the choices fit what is there: a model may have gone, another may have fewer layers, heads or patches, or
    read photos and not drawings."""
    if st.session_state.drawing is None and model() == models.DEFAULT and not reads_colours():
        return  # it reads digits; a first page need not wait for torch
    try:
        loaded = models.load(model())
    except (ValueError, FileNotFoundError) as error:
        if model() == models.DEFAULT:
            raise
        notice(f"{error} You see the explorer's own model instead.")
        choose(model=models.DEFAULT)
        loaded = models.load(models.DEFAULT)
    config = loaded.model.config
    _show_what_it_reads(loaded)
    if st.session_state.asked:
        _tell_what_is_beyond(config)
    for name, size in {"layer": config.depth, "head": config.heads, "token": config.tokens}.items():
        if st.session_state[f"chosen_{name}"] >= size:
            choose(**{name: size - 1})


def _show_what_it_reads(loaded: models.Loaded) -> None:
    """Each kind of model has a picture of its own, which waits while the visitor looks into the other."""
    kept, colours = st.session_state, loaded.model.config.channels > 1
    if kept.reads_colours not in (None, colours):
        _put_aside()
        draw(kept.set_aside.get(colours))
    kept.reads_colours = colours
    if colours:
        draw(photos.for_size(kept.drawing, loaded) if kept.drawing else photos.first(loaded))


def _put_aside() -> None:
    kept = st.session_state
    if kept.reads_colours is not None:
        kept.set_aside[kept.reads_colours] = kept.drawing
    kept.reads_colours = None


def _tell_what_is_beyond(config: "ViTConfig") -> None:
    """What a link asks for is not bent in silence."""
    sizes = {"layer": config.depth, "head": config.heads, "token": config.tokens, "at": config.tokens,
             "output": config.width, "number": config.width, "unit": config.mlp_width, "class": config.classes}
    if st.session_state.asked.pop("off", None) is not None and (missing := what_if.beyond(config)):
        notice(f"The link takes away {what_if.listed(missing)}, which this model does not have. "
               "The rest is as it asks.")
    for name, number in st.session_state.asked.items():
        first = 0 if name in FROM_ZERO else 1
        last = sizes[name] - 1 + first
        if number + first > last:
            notice(f"The link asks for {name} {number + first}, and this model has them up to {last}. You see "
                   + ("what the page chooses by itself." if name in ("at", "class") else f"{name} {last}."))
    st.session_state.asked = {}


# Into the address


def link_parameters(page: str | None = None) -> dict[str, str]:
    """The choices that differ from a first visit, as they stand in a link to a page. Layers and heads count from 1."""
    now, page = get(), page or st.session_state.page
    parameters = {
        "d": now.drawing.code if now.drawing else "",
        "model": now.model if now.model != models.DEFAULT else "",
        "layer": str(now.layer + 1) if now.layer else "",
        "head": str(now.head + 1) if now.head else "",
        "token": str(now.token) if now.token else "",
        **{name: _number_in_link(name, now) for name in ON_PAGE.get(page, ())},
        "panel": st.session_state.panels.get(page, ""),
        "scale": SCALES[1] if page == "attention" and st.session_state.get("shared_scale") else "",
        "off": what_if.as_code(),
        "hide": ",".join(sorted(now.hidden)),
        "with": now.beside,
    }
    return {name: value for name, value in parameters.items() if value}


def _number_in_link(name: str, now: Choice) -> str:
    number = st.session_state.get(KEPT_AS[name])
    if name == "class":  # chosen for one drawing
        code, number = number or (None, None)
        number = number if now.drawing and code == now.drawing.code else None
    return "" if number is None else str(number + (name not in FROM_ZERO))


def write_url() -> None:
    """Keep the address bar true, so that a reload or a copied address brings everything back."""
    now = st.query_params.to_dict()
    others = {name: value for name, value in now.items() if name not in OURS}
    true = others | link_parameters()
    addresses = st.session_state.addresses
    addresses[_address(st.session_state.page, true)] = None
    if len(addresses) > HISTORY:
        del addresses[next(iter(addresses))]
    if now != true:
        st.query_params.from_dict(true)  # all at once: one step for the Back button, not six
