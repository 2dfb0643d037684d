"""A guided walk for newcomers: each stop asks for one thing, and notices when it is done."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from vit.ui import state

LATE = 6  # a layer from which on nobody has to go further


@dataclass(frozen=True)
class Stop:
    page: str
    words: str
    done: Callable[[state.Choice, state.Choice], bool] | None = None  # (when the stop began, now)


STOPS = (
    Stop("draw", "Welcome. **Draw a digit**, or pick one from the row below the canvas.",
         lambda before, now: now.drawing is not None),
    Stop("draw", "Look at the pictures in the middle: the model never sees your canvas, only **28 x 28 pixels**. "
                 "Draw another digit, small and in a corner, and see that it ends up in the middle all the same.",
         lambda before, now: now.drawing != before.drawing),
    Stop("patches", "The picture is cut into patches; each becomes one token. **Click a patch**, "
                    "best one that has ink in it.",
         lambda before, now: now.token > 0 and now.token != before.token),
    Stop("embedding", "A patch's pixels become one vector of numbers, by one matrix. **Choose another patch** "
                      "as the token in the sidebar, and watch its numbers and stripes change.",
         lambda before, now: now.token != before.token),
    Stop("attention", "Each small map shows where one head looks. **Choose a head** that looks at the ink: click "
                      "its map.",
         lambda before, now: (now.layer, now.head) != (before.layer, before.head)),
    Stop("attention", "CLS collects what the answer needs. **Choose CLS as the token**, if it is not chosen, then "
                      "go to a **late layer** and see what it reads.",
         lambda before, now: now.token == 0 and (now.layer > before.layer or now.layer >= LATE)),
    Stop("layers", "Every block only *adds* to what is there. **Choose another layer**: which adds most to your token?",
         lambda before, now: now.layer != before.layer),
    Stop("logits", "Here is the answer, and how it grew from layer to layer. At which block does the model make up "
                   "its mind?"),
    Stop("draw", "Now try to fool it. Clear the canvas, and **draw something between a 4 and a 9.** Does it say that "
                 "it is not sure?",
         lambda before, now: now.drawing != before.drawing),
    Stop("train", "Last stop: train two models yourself, one with mirrored digits, and see who pays for it."),
)


def start_button() -> None:
    if st.session_state.get("tour_stop") is None:
        st.button("Tour", icon=":material/explore:", on_click=go_to_stop, args=(0,))


def go_to_stop(number: int | None) -> None:
    st.session_state.tour_stop = number
    st.session_state.tour_before = state.get()


def show(page: str, go_to: Callable[[str], None]) -> None:
    number = st.session_state.get("tour_stop")
    if number is None:
        return
    stop = STOPS[number]
    with st.container(border=True):
        st.markdown(f"**Stop {number + 1} of {len(STOPS)}.** {stop.words}")
        here, last = stop.page == page, number + 1 == len(STOPS)
        if not here:
            st.caption(f"This stop is on the page “{stop.page.capitalize()}”.")
        elif stop.done and stop.done(st.session_state.tour_before, state.get()):
            st.markdown(":material/check_circle: Done. On to the next stop.")
        with st.container(horizontal=True):
            if not here:
                if st.button("Take me there", type="primary", key="tour_there"):
                    go_to(stop.page)
            elif last:
                st.button("Finish", type="primary", key="tour_finish", on_click=go_to_stop, args=(None,))
            elif st.button("Next stop", type="primary", key="tour_next"):
                go_to_stop(number + 1)
                go_to(STOPS[number + 1].page)
            if not (here and last):
                st.button("Leave the tour", key="tour_leave", on_click=go_to_stop, args=(None,))
