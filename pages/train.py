"""Twin runs with and without flips, live."""

import streamlit as st

from vit.runs.queue import dispatcher
from vit.ui import frame, parts, training_after, training_live, training_setup

dispatcher().expect_a_start()
frame.title(
    "How does it learn, and what do flips do?",
    "You train two models at once, from the same weights, on the same images in the same order. "
    "One of them sees half of the images mirrored.",
)
training_setup.choose(training_live.start)
if problem := st.session_state.pop("train_problem", None):
    st.error(problem)

pair = training_live.current_pair()
if pair:
    training_live.show(pair)
    training_after.epochs(pair)
    training_after.downloads(pair)
parts.try_this("choose Fashion-MNIST under *All knobs*. A mirrored shoe is still a shoe: what of the gap? Then "
               "CIFAR-10, with 5,000 train images and 20 epochs: who is ahead now?")
training_after.table()
