"""Deleting runs: the question before, the minute in which it can be taken back, and room when the disk is full."""

from functools import partial

import streamlit as st

from vit import runs
from vit.runs import deleted
from vit.runs.names import pair_of
from vit.ui import parts, visitor
from vit.ui.panels.train import pair
from vit.ui.panels.train.entries import Entry, many

LOOK_EVERY = 1.0  # seconds, while something can be taken back


def propose_to_delete(entries: list[Entry]) -> None:
    st.session_state.train_deleting = [entry.name for entry in entries]


def keep() -> None:
    st.session_state.pop("train_deleting", None)


def delete(entries: list[Entry]) -> None:
    keep()
    pair.attempt(partial(deleted.set_aside, visitor.me()), [run_id for entry in entries for run_id in entry.ids])
    looked_at = st.session_state.get("train_pair")
    if looked_at in [entry.name for entry in entries] and not pair.read(looked_at):
        st.session_state.train_left = looked_at
        pair.look_at(None)


def offer_to_take_back() -> None:
    if deleted.to_take_back(visitor.me()):
        st.fragment(take_back_bar, run_every=LOOK_EVERY)()


def take_back_bar() -> None:
    found = deleted.to_take_back(visitor.me())
    if not found:
        st.rerun()  # their minute is over, or another tab took them back
    left = min(one.seconds_left for one in found)
    count = len({pair_of(one.run_id) for one in found})
    with st.container(horizontal=True, vertical_alignment="center", key="train_deleted"):
        st.markdown(f"{many(count).capitalize()} deleted. You can take that back for {left:.0f} s.", width="content")
        st.button("Take back", icon=":material/undo:", key="train_take_back", on_click=take_back)


def take_back() -> None:
    pair.attempt(deleted.take_back, visitor.me())
    left = st.session_state.pop("train_left", None)
    if left and not st.session_state.train_pair and pair.read(left):
        st.session_state.train_pair = left


def ask_before_deleting(entries: list[Entry]) -> None:
    """The question stays until it is answered, though the page may be made anew meanwhile: runs go on."""
    names = st.session_state.get("train_deleting", ())
    doomed = [entry for entry in entries if entry.name in names]
    if doomed:
        question(doomed)
    else:
        keep()


@st.dialog("Delete?", on_dismiss=keep)
def question(entries: list[Entry]) -> None:
    for entry in entries:
        kind = f"{entry.runs[0].preset or 'own'}, started {entry.started}" if entry.runs else "cannot be read"
        st.markdown(f"- **{parts.as_text(entry.name)}** ({parts.as_text(kind)}), {entry.size / 1e6:,.1f} MB"
                    + (". **It is training now, and will be stopped.**" if entry.training else ""))
    in_all = "" if len(entries) == 1 else f", {sum(entry.size for entry in entries) / 1e6:,.1f} MB in all"
    st.markdown(f"{many(len(entries)).capitalize()}{in_all}: metrics, checkpoints and all. Other visitors may be "
                "looking at them. You can take this back for a minute; then they are gone for good.")
    with st.container(horizontal=True):
        if st.button("Delete", type="primary", icon=":material/delete:", key="train_delete_yes"):
            delete(entries)
            st.rerun()
        if st.button("Keep", key="train_delete_no"):
            keep()
            st.rerun()


def offer_to_clean_up(entries: list[Entry]) -> None:
    used, limit = runs.disk_used() - deleted.size(), runs.disk_limit()
    if used < 0.8 * limit:
        return
    idle = [entry for entry in reversed(entries) if not entry.training]
    ours = [entry for entry in idle if not visitor.me().refusal(entry.owner)]
    oldest = ours[: max(1, len(ours) // 2)]
    st.warning(f"The runs take {used / 1e6:,.0f} of {limit / 1e6:,.0f} MB."
               + ("" if oldest else " None of them is yours to delete."))
    if oldest:
        of_yours = "" if len(ours) == len(idle) else " of yours"
        st.button(f"Delete the {len(oldest)} oldest{of_yours}", icon=":material/delete_sweep:", key="train_clean_up",
                  on_click=propose_to_delete, args=(oldest,))
