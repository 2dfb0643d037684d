"""What every page shares: the sidebar, the path of pages with Back and Next, the title line and the link to share."""

from copy import copy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit, urlunsplit

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from vit.charts import colours, patches
from vit.charts.picture import TemplatePicture
from vit.ui import about, models, parts, state, tour, what_if
from vit.ui import view as views
from vit.ui.show import show
from vit.ui.view import View

if TYPE_CHECKING:
    from vit.config import ViTConfig

PAGES = Path(__file__).parents[2] / "pages"
PATH = {
    "draw": "Draw", "machine": "Machine", "patches": "Patches", "embedding": "Embedding", "attention": "Attention",
    "layers": "Layers", "logits": "Logits", "what_if": "What if", "train": "Train", "claims": "Claims",
}
CARD = 112  # pixels of the picture in the sidebar
FEW_CLASSES = 20  # that can be listed in the sidebar
TEACHERS_SERVER = "http://localhost:8501"  # in the links of TEACHING.md
SELECTORS = {
    "patches": ("token",), "embedding": ("token",), "attention": ("layer", "head", "token"),
    "layers": ("layer", "token"),
}


def pages() -> dict[str, StreamlitPage]:
    return {name: page_of(name) for name in PATH}


def page_of(name: str) -> StreamlitPage:
    return copy(_page(name))  # each can be run once


@cache
def _page(name: str) -> StreamlitPage:
    """Kept: to make one, Streamlit looks at the disk, and each run of the script needs all of them."""
    return st.Page(PAGES / f"{name}.py", title=PATH[name], default=name == "draw")


def begin(page: str) -> View:
    """The view of this page; without a drawing an invitation stands in its place."""
    view = views.current()
    if view is None:
        title("Nothing to look at yet",
              "Draw a digit from 0 to 9, or pick one, and this page fills with its numbers.")
        if st.button("Draw a digit", type="primary", icon=":material/edit:"):
            go_to("draw")
        end(page)
        st.stop()
    return view


def title(question: str, sentence: str) -> None:
    """The page's question with the controls that belong to no page beside it, and one sentence."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(question, anchor=False)
        with st.container(horizontal=True, wrap=False, width="content"):  # a long question has both below it
            if not state.hides("tour"):
                tour.start_button(begin_tour)
            if not state.hides("share") and st.button("Share", icon=":material/link:"):
                share(st.session_state.page)
    st.markdown(sentence)


def end(page: str) -> None:
    """Back and Next, by button or by the arrow keys: they lead through all pages."""
    if state.hides("stepper"):
        return
    names = list(PATH)
    here = names.index(page)
    with st.container(horizontal=True, vertical_alignment="center", key="stepper"):
        if here > 0 and st.button(f"Back: {PATH[names[here - 1]]}", shortcut="Left", key="back", width=220):
            go_to(names[here - 1])
        st.caption(f"{here + 1} of {len(names)}", text_alignment="center")
        if here < len(names) - 1 and st.button(f"Next: {PATH[names[here + 1]]}", shortcut="Right", key="next",
                                               type="primary", width=220):
            go_to(names[here + 1])


def go_to(page: str) -> None:
    st.switch_page(page_of(page), query_params=state.link_parameters(page))


def begin_tour() -> None:
    first = tour.stops(PATH)[0].page
    tour.go_to_stop(0, first)
    go_to(first)


def top_line(page: str) -> None:
    """Notices, and the tour, close to the menu: on a projector every line counts."""
    for sentence in st.session_state.notices:
        st.warning(parts.as_text(sentence))
    st.session_state.notices.clear()
    if tour.is_on() and not state.hides("tour"):
        tour.show(page, views.current(), tour.stops(PATH), go_to)


@st.dialog("Share")
def share(page: str) -> None:
    st.markdown("This link brings back this page, with your drawing or photo and model, all that you have chosen and "
                "opened, what you have taken away, and the run you look at.")
    address = link(page)
    st.code(address, language=None, wrap_lines=True)
    hide = f"{'&' if '?' in address else '?'}hide={','.join(state.HIDEABLE)}"
    st.caption(f"For a class: add `{hide}` (any of them) to hide parts.")
    with st.expander("For teachers: a demo of 10 minutes, a lesson of 45", icon=":material/school:"):
        st.markdown(teaching().replace(TEACHERS_SERVER, urlunsplit((*urlsplit(st.context.url or "")[:2], "", "", ""))))


@cache
def teaching() -> str:
    return (PAGES.parent / "TEACHING.md").read_text(encoding="utf-8").partition("\n\n")[2]


def link(page: str) -> str:
    parameters = state.link_parameters(page)
    if page == "train" and (pair := st.session_state.get("train_pair")):
        parameters["run"] = pair
    if page == "claims" and (claim := st.query_params.get("claim")):
        parameters["claim"] = claim
    here = urlsplit(st.context.url or "")
    # Without its last slash, the address of the first page would be taken for that of a page beside it.
    path = here.path.rstrip("/") + "/" if page == "draw" else here.path
    return urlunsplit((here.scheme, here.netloc, path, urlencode(parameters, safe=",:/"), ""))


def sidebar(page: str) -> None:
    if state.hides("sidebar"):
        return
    with st.sidebar:
        view = views.current()
        if view is None:  # as little as possible: a first-time visitor's browser fetches scripts for each widget
            st.markdown("#### Your digit\nappears here as soon as you draw it, read by the model "
                        f"**{models.name_of(state.model())}**.")
            if state.shown_to(colours=True):
                choose_model()  # the way back to the photo
            return
        answer_card(view)
        choose_model()
        if not view.reads_digits:
            st.caption(parts.as_text(answers_in_words(view)))
        for name in SELECTORS.get(page, ()):
            selector(name, getattr(view, name), view.config)
        if page in ("patches", "embedding") and view.token == 0:
            st.caption(f"CLS has no pixels: you see patch {view.patch + 1}, the one with the most "
                       f"{'contrast' if view.is_photo else 'ink'}.")


def answers_in_words(view: View) -> str:
    names, answer = view.class_names, view.prediction
    if len(names) > FEW_CLASSES:
        full = view.details.classes[answer] if len(view.details.classes) == len(names) else names[answer]
        return f"It knows {len(names):,} classes; its answer, number {answer}, is {full}."
    listed = ", ".join(names)
    learned = f"has learned {view.dataset.title}" if view.dataset else f"comes from {view.details.origin}"
    return f"It {learned}, so its answers are: {listed}."


def answer_card(view: View) -> None:
    """The drawing and its answer; where parts are taken away, also what the model says then."""
    every = -(-view.config.image_size // CARD)
    changed = view.changed_by(*what_if.probes(view.config)).probabilities if what_if.as_code() else None
    show(TemplatePicture("answer_card", {
        "picture": colours.data_uri(view.image[::every, ::every]), "before": told(view, view.reading.probabilities),
        "after": None if changed is None else told(view, changed),
    }, alt=f"your {view.thing}, {view.config.image_size} by {view.config.image_size} pixels"))


def told(view: View, probabilities: np.ndarray) -> dict[str, object]:
    best = float(probabilities.max())
    return {"answer": view.class_names[int(probabilities.argmax())], "confidence": f"{best:.1%}",
            "sure": view.would_be_sure(best)}


def choose_model() -> None:
    now = state.model()
    if "opened_models" not in st.session_state:
        st.session_state.opened_models = models.choices()
    opened = st.session_state.opened_models
    if now not in opened:
        opened.append(now)
    st.session_state.model_widget = now
    # Not a select box: a browser that opens the app for the first time would fetch 21 scripts for it, for pills 5.
    st.pills("model", opened, key="model_widget", format_func=models.name_of, required=True,
             on_change=lambda: state.choose(model=st.session_state.model_widget))
    if st.button("About this model", type="tertiary", icon=":material/info:"):
        about.show(now)


def selector(name: str, chosen: int, config: "ViTConfig") -> None:
    """A plain control for what can also be chosen by clicking a picture."""
    widget = f"{name}_widget"

    def changed() -> None:
        state.choose(**{name: st.session_state[widget] - (name != "token")})

    if name == "token":
        st.session_state[widget] = chosen
        st.selectbox("token", range(config.tokens), key=widget, on_change=changed,
                     format_func=lambda token: patches.token_name(token, config))
    else:
        size = config.depth if name == "layer" else config.heads
        st.session_state[widget] = chosen + 1
        st.number_input(f"{name}, of {size}", 1, size, step=1, key=widget, on_change=changed)
