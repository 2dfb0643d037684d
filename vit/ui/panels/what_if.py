"""What if: parts of the model, or of the picture, taken away."""

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vit.charts import attention, draw, patches
from vit.ui import parts, what_if
from vit.ui.panels.heads import that_matter
from vit.ui.show import show
from vit.ui.view import View

if TYPE_CHECKING:
    from vit.trace import ForwardTrace


def changed(view: View) -> "ForwardTrace":
    """The drawing in the model with all that is taken away."""
    return view.changed_by(*what_if.probes(view.config))


def sentence(view: View) -> str:
    changes, after = what_if.changes(view.config), changed(view)
    before = (f"As it is, the model reads your {view.own} as {view.told(view.trace.prediction)} with "
              f"{view.confidence:.1%}. ")
    if not changes:
        return before + "Take something away, and see whether it can do without."
    return before + (f"With {what_if.listed([change.words for change in changes])} it reads "
                     f"{view.told(after.prediction)} with {after.probabilities.max():.1%}.")


def answer_in_sight(view: View) -> None:
    """The answer before and after, in one line that stays in sight wherever one clicks, also on a phone."""
    changes, after = what_if.changes(view.config), changed(view)
    show(draw.change(view.trace.probabilities, after.probabilities,
                     what_if.listed([change.words for change in changes]) if changes else "", view.class_names))


def changes_and_answer(view: View) -> None:
    picture, switched, answered = st.columns([5, 4, 4], gap="large")
    with picture:
        hide_patches(view)
    with switched:
        switches(view)
    with answered:
        answer(view)


def hide_patches(view: View) -> None:
    config, image, order = view.config, view.trace.image, what_if.order(view.config)
    st.markdown("**Hide patches**: click them. Nobody can look at a grey one.")
    show(patches.rearranged(image, config, order, what_if.hidden_places(config), view.thing), "missing_patches",
         lambda place: what_if.toggle("patches", order[place]))
    empty = [patch for patch, pixels in enumerate(patches.cut(image, config.patch_size)) if not pixels.any()]
    with st.container(horizontal=True):
        if empty or not view.is_photo:
            st.button("Hide empty ones", on_click=what_if.hide, args=(empty,))
        st.button("Put all back", icon=":material/replay:", on_click=what_if.put_back, disabled=not what_if.as_code())


def switches(view: View) -> None:
    st.markdown("**Take parts of the model away**")
    for name, (label, effect) in what_if.SWITCHES.items():
        st.toggle(label, key=what_if.key(name), help=effect, persist_state="session")


def answer(view: View) -> None:
    now = changed(view).probabilities
    show(draw.answer(now, view.would_be_sure(float(now.max())), name="changed-answer",
                     before=view.trace.probabilities,
                     classes=() if view.reads_digits else view.class_names))
    st.caption("Bars: with your changes. Marks: as it was.")


def blocks(view: View) -> None:
    for column, (name, label) in zip(st.columns(2), what_if.BLOCKS.items(), strict=True):
        st.session_state[what_if.key(name)] = [block + 1 for block in what_if.blocks_off(name, view.config)]
        column.pills(label, range(1, view.config.depth + 1), selection_mode="multi", key=what_if.key(name), wrap=True,
                     persist_state="session")


def heads(view: View) -> DeltaGenerator:
    """Gives back the place beside, for what takes longer."""
    off, blocks_off = what_if.silent_heads(view.config), what_if.blocks_off("attention", view.config)

    def switch(cell: int) -> None:
        layer, head = divmod(cell, view.config.heads)
        if layer not in blocks_off:
            what_if.toggle("heads", (layer, head))

    left, right = st.columns(2, gap="large", vertical_alignment="bottom")
    with left:
        st.markdown("**Switch heads off**: click them. Each small map shows where CLS looks with your changes."
                    + (" Under GPT's mask it sees only itself: all are dark." if what_if.is_on("causal") else ""))
        show(attention.heads_to_switch(changed(view), off, blocks_off), "missing_heads", switch)
    return right


def heads_that_matter(view: View, place: DeltaGenerator) -> None:
    """Beside the heads, and filled last: the rest of the page need not wait for it."""
    off = what_if.silent_heads(view.config)
    with place:
        st.markdown("**Which single head hurts most?** Each off by itself, in the model as it is, on your "
                    f"{view.own}.")
        that_matter(view, "single_heads", lambda cell: what_if.toggle("heads", divmod(cell, view.config.heads)),
                    [layer * view.config.heads + head for layer, head in off])


def try_this(view: View) -> None:
    parts.try_this("shuffle the patches. Then switch positions off, and shuffle once more: why does the order no "
                   f"longer matter? After that, hide patches one by one: how few does your {view.thing} need?")
