"""Which heads matter for this drawing: each switched off by itself, for the pages Attention and What if."""

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from vit.charts import attention
from vit.ui import models
from vit.ui.show import show
from vit.ui.view import View

HEAVY = 10**11  # weights x tokens x heads: about four seconds; a larger model is measured only when asked to
TELLING = 0.01  # probability: a head that costs less is called one that hardly matters


def that_matter(view: View, key: str, choose: Callable[[int], None], chosen: Sequence[int] = ()) -> None:
    """In words, which one hurts the answer most; and as a map with a cell for each."""
    config = view.config
    work = config.parameters * config.tokens * config.depth * config.heads
    if work > HEAVY and not st.session_state.get("measure_heads"):
        st.caption(f"This model is large: to switch off each of its {config.depth * config.heads} heads takes a while.")
        st.button("Measure it", key=f"{key}_measure", on_click=lambda: st.session_state.update(measure_heads=True))
        return
    answers, before = models.without_each_head(view.model_id, view.drawing), view.trace.probabilities.astype(float)
    worst = int(answers[..., view.trace.prediction].argmin())
    st.markdown(ranking(answers, before, view))
    show(attention.heads_that_matter(answers, before, chosen, worst, view.class_names, view.dark), key, choose)


def ranking(answers: np.ndarray, before: np.ndarray, view: View) -> str:
    """Which single head, switched off, hurts the answer most; how many matter, and whether one is in the way."""
    winner, heads = int(before.argmax()), view.config.heads
    name = view.word(winner)
    left = answers[..., winner].ravel()
    lost = before[winner] - left
    worst, best = int(lost.argmax()), int(lost.argmin())

    def named(cell: int) -> str:
        return f"head {cell % heads + 1} of layer {cell // heads + 1}"

    if lost[worst] <= 0:
        return f"**No single head is needed**: without any one of them the {name} keeps its {before[winner]:.1%}."
    other = int(answers.reshape(len(lost), -1)[worst].argmax())
    flips = f", and the model reads {view.told(other)}" if other != winner else ""
    telling = int((lost > TELLING).sum())
    told = [f"**{named(worst).capitalize()}** matters most: switched off alone, it takes the {name} from "
            f"{before[winner]:.1%} to {left[worst]:.1%}{flips}. It has the broken frame.",
            f"{telling} of {len(lost)} heads cost more than {100 * TELLING:.0f} point each."]
    if lost[best] < 0:
        told.append(f"Without {named(best)} the {name} would even win {-100 * lost[best]:.2f} points (blue).")
    return " ".join(told)
