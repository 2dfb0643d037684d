"""Twin runs with and without flips, live."""

import streamlit as st

from vit.dispatch import dispatcher
from vit.ui import frame, parts, training_after, training_live, training_setup

dispatcher().expect_a_start()
frame.title(
    "How does it learn, and what do flips do?",
    "You train two models at once. They start from the same weights and see the same images in the same order; "
    "one of them sees half of the images mirrored.",
)
config, preset = training_setup.choose()
st.button("Start both twins", type="primary", icon=":material/play_arrow:", disabled=config is None,
          key="train_start", on_click=training_live.start, args=(config, preset))
if problem := st.session_state.pop("train_problem", None):
    st.error(problem)

pair = training_live.current_pair()
if pair:
    training_live.show(pair)
    training_after.epochs(pair)
    training_after.downloads(pair)
parts.try_this("switch to Fashion-MNIST under *All knobs*. A mirrored shoe is still a shoe: what happens to the gap?")
training_after.table()
