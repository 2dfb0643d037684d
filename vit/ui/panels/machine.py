"""Machine: the whole model at one glance, with this drawing's values; it unfolds and plays in the browser."""

from typing import Any

import streamlit as st

from vit.charts import machine
from vit.ui import frame, markup, parts, state
from vit.ui.panels import side_by_side
from vit.ui.view import View


def sentence(view: View) -> str:
    pixels = view.config.image_size**2
    return (f"Your {view.own} enters as **{pixels:,} pixels** and leaves as {view.config.classes:,} probabilities: "
            f"**{view.answer}**, with {view.confidence:.1%}. Every colour and number in between is real.")


def one_or_two(view: View) -> None:
    """The visitor's machine at the top, and below it, if there is one, the machine to compare with."""
    mine, beside = st.container(), st.container()
    other = side_by_side.control(view)
    with mine:
        if other:
            if not side_by_side.are_the_same(view, other):
                st.markdown(side_by_side.logits_in_words(view, other))
            side_by_side.headline(view, other)
        whole(view)
    if other:
        with beside:
            side_by_side.headline(other, view)
            whole(other, "machine_beside")


def whole(view: View, key: str = "machine") -> None:
    picture = machine.whole(view.trace, view.model, view.token, view.class_names, view.thing)

    def chosen() -> None:
        choose(view, st.session_state[key].choose)

    shown = markup.component("machine")(
        key=key, data=picture.packed(view.layer, view.head), on_choose_change=chosen, on_go_change=lambda: None,
    )
    if isinstance(shown.go, dict) and shown.go.get("page") in frame.PATH:
        choose(view, shown.go)
        frame.go_to(shown.go["page"])


def choose(view: View, asked: Any) -> None:
    """What the browser asks for, as far as the model has it."""
    sizes = {"layer": view.config.depth, "head": view.config.heads, "token": view.config.tokens}
    asked = asked if isinstance(asked, dict) else {}
    state.choose(**{name: number for name, number in asked.items()
                    if name in sizes and isinstance(number, int) and 0 <= number < sizes[name]})


def try_this(view: View) -> None:
    parts.try_this("press play, then click the block where the answer below it becomes sure. Which of its heads looks "
                   f"at {'what you would look at' if view.is_photo else 'the ink'}?")
