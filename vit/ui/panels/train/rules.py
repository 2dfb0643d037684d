"""How much may be trained here, and who may do what with it."""

import streamlit as st

from vit import runs
from vit.config import MOST_MEMORY
from vit.ui import parts, visitor


def rules() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="train_rules"):
        st.caption(f"**What may be trained here.** {bounds()} {rights()}")
        if runs.key_is_set():
            key()
    visitor.keep_pass()


def bounds() -> str:
    most, each = runs.max_waiting(), runs.max_waiting_each()
    share = f", at most {each} of them one visitor's" if each < most else ""
    memory = min(runs.pair_memory(), 2 * MOST_MEMORY)
    return (f"{runs.max_workers()} runs train at once, and {most} pairs may wait for their turn{share}. "
            f"The models of a pair may take {memory / 1e9:,.1f} GB of memory. All runs together may take "
            f"{runs.disk_limit() / 1e6:,.0f} MB of disk, and take {runs.disk_used() / 1e6:,.0f} MB now.")


def rights() -> str:
    if not runs.key_is_set():
        return "Whoever opens this page can pause, stop and delete every run: no teacher's key is set."
    if visitor.me().teacher:
        return "You have entered the teacher's key, and control every run."
    return "You can watch every run and open its models; you control those that this browser has started."


def key() -> None:
    """Shown to everybody, since nobody knows who the teacher is."""
    if visitor.me().teacher:
        st.button("Forget the key", icon=":material/lock:", key="teacher_forget", type="tertiary",
                  on_click=visitor.forget_key)
        return
    st.button("Teacher's key", icon=":material/key:", key="teacher_enter", type="tertiary", on_click=ask)
    if st.session_state.get("teacher_asked"):  # until it is answered, though the page may be made anew meanwhile
        question()


def ask() -> None:
    st.session_state.teacher_asked = True


def dismiss() -> None:
    st.session_state.teacher_asked = False


@st.dialog("Teacher's key", on_dismiss=dismiss)
def question() -> None:
    if visitor.me().teacher:
        dismiss()
        st.rerun()
    st.markdown("It lets you pause, resume, stop and delete every run, in this browser and until it is closed.")
    with st.form("teacher_form", border=False, clear_on_submit=True):
        st.text_input("Key", type="password", key="teacher_entered", autocomplete="off")
        st.form_submit_button("Unlock", type="primary", icon=":material/key:", on_click=visitor.enter_key)
    if problem := st.session_state.pop("teacher_problem", ""):
        st.error(parts.as_text(problem))
