"""Logits: CLS becomes logits, logits become probabilities, and the answer grows from block to block."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import logits
from vit.charts.classes import likeliest
from vit.numbers import bracketed, rounded
from vit.ui import parts
from vit.ui.show import show
from vit.ui.view import View


def runner_up(view: View) -> int:
    return int(np.argsort(view.trace.logits)[-2])


def chosen_class(view: View) -> int:
    """The class looked into: the visitor's choice for this drawing, else the answer."""
    code, chosen = st.session_state.get("chosen_class", (None, None))
    return chosen if code == view.drawing.code and chosen < view.config.classes else view.trace.prediction


def choose_class(view: View, chosen: int) -> None:
    st.session_state.chosen_class = (view.drawing.code, chosen)


def sentence(view: View) -> str:
    trace, second = view.trace, runner_up(view)
    settled = explain.settled_at(explain.logit_lens(trace, view.model))
    return (f"The answer is read from CLS alone: **{trace.prediction}** with {view.confidence:.1%}, before {second} "
            f"with {trace.probabilities[second]:.1%}. {logits.settling(settled, view.config.depth, trace.prediction)}")


def class_control(view: View) -> None:
    st.session_state.class_widget = chosen = chosen_class(view)
    st.segmented_control("class to look into", likeliest(view.trace.probabilities, chosen), key="class_widget",
                         required=True, on_change=lambda: choose_class(view, st.session_state.class_widget))


def answer(view: View) -> None:
    """After each block, and from the last logits to probabilities."""
    trace, label = view.trace, chosen_class(view)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**The answer after each block**: what the head would read if the model stopped there. Training "
                    "teaches it the last row only.")
        depths = explain.logit_lens(trace, view.model)
        shown = logits.lens_classes(depths, label)
        show(logits.lens(depths, label), "lens", lambda cell: choose_class(view, shown[cell % len(shown)]))
    with right:
        st.markdown("**From logits to probabilities**: softmax makes each positive and divides by their sum.")
        show(logits.softmax_table(trace.logits, trace.probabilities, label, view.dark))


def one_logit(view: View) -> None:
    trace, label, width = view.trace, chosen_class(view), view.config.width
    st.subheader(f"The logit of {label}", anchor=False)
    picture, maths = st.columns([3, 2], gap="large")
    with picture:
        st.markdown(f"The {width} numbers of CLS after the last norm, times the {width} weights of the head for "
                    f"{label}. What is red in the last row speaks for {label}, what is blue against it.")
        show(logits.reading(trace.cls_out, view.weights("head.weight")[label], label, view.dark), "reading")
    with maths:
        parts.equation(
            r"\mathbf{y} = \mathrm{LN}(\mathbf{z}_L^0) \qquad \text{logits} = \mathbf{W}\mathbf{y} + \mathbf{b}"
        )
        parts.provenance(
            f"logit of {label}", f"CLS after the last norm, times the head's weights for {label}, plus a bias.",
            explain.class_logit(trace, view.model, label), "y", "w",
        )


def one_probability(view: View) -> None:
    trace, label = view.trace, chosen_class(view)
    st.subheader(f"The probability of {label}", anchor=False)
    words, maths = st.columns([3, 2], gap="large")
    with words:
        st.markdown(f"All {view.config.classes:,} terms, and their sum:")
        show(logits.written_sum(trace.logits, label))
    with maths:
        parts.equation(
            rf"p_{{{label}}} = \frac{{e^{{\text{{logit}}_{{{label}}}}}}}{{\sum_j e^{{\text{{logit}}_j}}}}",
            logits.softmax_line(trace.logits, trace.probabilities, label),
        )


def why_not_the_rival(view: View) -> None:
    """Who has put how much between the answer and the class looked into, or the second best."""
    trace, winner, label = view.trace, view.trace.prediction, chosen_class(view)
    rival = runner_up(view) if label == winner else label
    shares = explain.contributions(trace, view.model, winner, rival)
    st.subheader(f"Why {winner} and not {rival}?", anchor=False)
    st.markdown(f"CLS at the end is the sum of what it started with and all that the blocks have added. Divided by the "
                f"deviation that the last norm finds in this drawing, the lead of {winner} over {rival} is a sum too. "
                f"Each block puts in two parts, first attention, then its MLP: red for "
                f"{winner}, blue for {rival}. Each bar starts where the one before it ended.")
    show(logits.waterfall(shares, winner, rival, view.dark), "waterfall")
    parts.equation(
        rf"\begin{{aligned}}\text{{logit}}_{{{winner}}} - \text{{logit}}_{{{rival}}} &= z_0 + \sum "
        rf"\text{{attention}} \\"
        r"&\quad + \sum \text{MLP} + \text{fixed}\end{aligned}",
        rf"\begin{{aligned}}{rounded(trace.logits[winner])} - {bracketed(trace.logits[rival])} &= "
        rf"{rounded(shares.embedding)} + {bracketed(shares.attention.sum())} \\ &\quad + "
        rf"{bracketed(shares.mlp.sum())} + {bracketed(shares.constant)} \\ &= {rounded(shares.total)}\end{{aligned}}",
    )
    gap = abs(shares.total - (float(trace.logits[winner]) - float(trace.logits[rival])))
    st.caption("Fixed: the last norm's β and the head's biases, the same for every drawing. The numbers here are "
               "rounded, so a last digit may be one off; unrounded, the sum misses the difference of the logits by "
               f"{gap:.0e}.")


def try_this(view: View) -> None:
    parts.try_this(f"choose another class, and see which blocks spoke for it. Then draw a {view.trace.prediction} that "
                   "hesitates between two digits, and look for the block in which the model makes up its mind.")
