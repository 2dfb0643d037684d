"""Twin runs that differ in one thing, live."""

import streamlit as st

from vit.ui import frame, parts
from vit.ui.panels.train import pair, setup
from vit.ui.panels.train.after import downloads, epochs
from vit.ui.panels.train.live import live
from vit.ui.panels.train.luck import luck
from vit.ui.panels.train.recorded import mirror, recorded
from vit.ui.panels.train.rules import rules
from vit.ui.panels.train.table import table

frame.title(
    "How does it learn, and what matters?",
    "You train two models at once, on the same images in the same order. They are twins but for one thing: choose it.",
)
fault = pair.fault()
setup.choose(pair.start, can_start=not fault)
for sentence in filter(None, (fault, st.session_state.pop("train_problem", ""))):
    st.error(parts.as_text(sentence))

if twins := pair.current():
    for panel in (live, luck, mirror, epochs, downloads):
        panel(twins)
else:
    recorded()
parts.try_this("choose Fashion-MNIST under *All knobs*. A mirrored shoe is still a shoe: what of the gap? Then "
               "CIFAR-10, with 5,000 train images and 20 epochs: who is ahead now?")
table()
rules()
frame.end("train")
