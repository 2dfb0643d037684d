"""Logits: CLS becomes logits, logits become probabilities, and the answer grows from block to block."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import streamlit as st

from vit import explain
from vit.calibration import Calibration
from vit.charts import calibration, logits
from vit.charts.classes import likeliest
from vit.numbers import bracketed, latex_word, rounded, with_sign
from vit.ui import models, parts
from vit.ui.panels import side_by_side
from vit.ui.show import show
from vit.ui.view import View
from vit.variants import VARIANTS


class Read(NamedTuple):
    """Whose numbers the classifier gets."""

    words: str
    symbols: str


CLS = Read("CLS", r"\mathbf{z}_L^0")
ELSE = {"mean-pooling": Read("the mean of all patches", r"\tfrac{1}{N} \textstyle\sum_i \mathbf{z}_L^i"),
        "causal-last": Read("the last patch", r"\mathbf{z}_L^N")}


def reads(view: View) -> Read:
    return ELSE.get(view.config.variant, CLS)


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
    return (f"The answer is read from {reads(view).words} alone: **{view.answer}** with {view.confidence:.1%}, "
            f"before {view.word(second)} with {trace.probabilities[second]:.1%}. "
            f"{logits.settling(settled, view.config.depth, view.answer)}")


def class_control(view: View) -> None:
    st.session_state.class_widget = chosen = chosen_class(view)
    st.segmented_control("class to look into", likeliest(view.trace.probabilities, chosen), key="class_widget",
                         required=True, format_func=view.class_names.__getitem__,
                         on_change=lambda: choose_class(view, st.session_state.class_widget))


def answer(view: View, other: View | None) -> None:
    """After each block, and from the last logits to probabilities; of both, where something stands beside."""
    if other is not None:
        beside_each_other(view, other)
        return
    left, right = st.columns(2, gap="large")
    with left:
        after_each_block(view)
    with right:
        st.markdown("**From logits to probabilities**: softmax makes each positive and divides by their sum.")
        softmax_table(view, chosen_class(view))


def beside_each_other(view: View, other: View) -> None:
    if not side_by_side.are_the_same(view, other):
        st.markdown(f"{side_by_side.logits_in_words(view, other)} What follows below is about yours.")
    label = chosen_class(view)
    for column, one, another, side in zip(st.columns(2, gap="large"), (view, other), (other, view), ("", "_beside"),
                                          strict=True):
        with column:
            side_by_side.headline(one, another)
            lens(one, label, lambda chosen: choose_class(view, chosen), side)
            softmax_table(one, label)


def after_each_block(view: View) -> None:
    told = ("" if explain.is_a_sum(view.config) else
            " In this model each block hands on something new and not a sum, so the rows before the last tell less.")
    st.markdown("**The answer after each block**: what the classifier would read if the model stopped there. Training "
                f"teaches it the last row only.{told}")
    lens(view, chosen_class(view), lambda chosen: choose_class(view, chosen))


def lens(view: View, label: int, choose: Callable[[int], None], side: str = "") -> None:
    label, depths = min(label, view.config.classes - 1), explain.logit_lens(view.trace, view.model)
    shown = logits.lens_classes(depths, label)
    show(logits.lens(depths, label, view.class_names), f"lens{side}", lambda cell: choose(shown[cell % len(shown)]))


def softmax_table(view: View, label: int) -> None:
    show(logits.softmax_table(view.trace.logits, view.trace.probabilities, label, view.class_names, view.dark))


def one_logit(view: View) -> None:
    trace, label, width = view.trace, chosen_class(view), view.config.width
    name = view.word(label)
    st.subheader(f"The logit of {name}", anchor=False)
    picture, maths = st.columns([3, 2], gap="large")
    with picture:
        st.markdown(f"The {width} numbers of {reads(view).words} after the last norm, times the {width} weights of "
                    f"the classifier for {name}. What is red in the last row speaks for {name}, what is blue against "
                    "it.")
        show(logits.reading(trace.cls_out, view.weights("head.weight")[label], view.class_names[label], view.dark),
             "reading")
    with maths:
        parts.equation(
            rf"(4)\quad \mathbf{{y}} = \mathrm{{LN}}({reads(view).symbols})",
            [r"\text{logits} = \mathbf{y}\,\mathbf{W} + \mathbf{b}",
             rf"\mathbf{{y}} \in \mathbb{{R}}^{{D}} = \mathbb{{R}}^{{{width}}} \qquad \mathbf{{W}} \in "
             rf"\mathbb{{R}}^{{{width} \times {view.config.classes}}}"],
        )
        parts.provenance(
            f"logit of {view.class_names[label]}",
            f"{reads(view).words} after the last norm, times the column of W for {view.class_names[label]}, plus a "
            "bias.",
            explain.class_logit(trace, view.model, label), "y", "w",
        )


def one_probability(view: View) -> None:
    trace, label = view.trace, chosen_class(view)
    symbol = latex_word(view.class_names[label])
    st.subheader(f"The probability of {view.word(label)}", anchor=False)
    words, maths = st.columns([3, 2], gap="large")
    with words:
        st.markdown(f"All {view.config.classes:,} terms, and their sum:")
        show(logits.written_sum(trace.logits, label))
    with maths:
        parts.equation(
            rf"p_{{{symbol}}} = \frac{{e^{{\text{{logit}}_{{{symbol}}}}}}}{{\sum_j e^{{\text{{logit}}_j}}}}",
            logits.softmax_line(trace.logits, trace.probabilities, label),
        )


def why_not_the_rival(view: View) -> None:
    """Who has put how much between the answer and the class looked into, or the second best."""
    trace, winner, label = view.trace, view.trace.prediction, chosen_class(view)
    rival = runner_up(view) if label == winner else label
    names = view.word(winner), view.word(rival)
    first, second = (latex_word(view.class_names[one]) for one in (winner, rival))
    st.subheader(f"Why {names[0]} and not {names[1]}?", anchor=False)
    if not explain.is_a_sum(view.config):
        st.markdown("Who has put how much between the two cannot be shared out here: "
                    f"{VARIANTS[view.config.variant].difference} CLS at the end is not the sum of what the blocks "
                    "have given.")
        return
    shares = explain.contributions(trace, view.model, winner, rival)
    st.markdown(f"What the classifier reads, {reads(view).words} at the end, is the sum of what it started with and "
                f"all that the blocks have added. Divided by the deviation that the last norm finds in this "
                f"{view.own}, the lead of {names[0]} over {names[1]} is a sum too. Each block puts in two parts, "
                f"first attention, then its MLP: red for {names[0]}, blue for {names[1]}. Each bar starts where the "
                f"one before it ended. {most_of(shares, names[1])}")
    show(logits.waterfall(shares, view.class_names[winner], view.class_names[rival], view.dark), "waterfall")
    parts.equation(
        rf"\begin{{aligned}}\text{{logit}}_{{{first}}} - \text{{logit}}_{{{second}}} &= z_0 + \sum "
        rf"\text{{attention}} \\"
        r"&\quad + \sum \text{MLP} + \text{fixed}\end{aligned}",
        rf"\begin{{aligned}}{rounded(trace.logits[winner])} - {bracketed(trace.logits[rival])} &= "
        rf"{rounded(shares.embedding)} + {bracketed(shares.attention.sum())} \\ &\quad + "
        rf"{bracketed(shares.mlp.sum())} + {bracketed(shares.constant)} \\ &= {rounded(shares.total)}\end{{aligned}}",
    )
    gap = abs(shares.total - (float(trace.logits[winner]) - float(trace.logits[rival])))
    st.caption(f"Fixed: the last norm's β and the classifier's biases, the same for every {view.own}. The numbers here "
               "are rounded, so a last digit may be one off; unrounded, the sum misses the difference of the logits by "
               f"{gap:.0e}.")


def most_of(shares: explain.Contributions, rival: str) -> str:
    """Which block contributes most, and which stands most against it."""
    most, least = int(shares.blocks.argmax()), int(shares.blocks.argmin())

    def both(block: int) -> str:
        return (f"{with_sign(shares.blocks[block])} (attention {with_sign(shares.attention[block])}, MLP "
                f"{with_sign(shares.mlp[block])})")

    told = f"**Block {most + 1}** contributes most: {both(most)}."
    return told + (f" Block {least + 1} speaks most for {rival}: {both(least)}." if shares.blocks[least] < 0 else "")


def how_sure(view: View) -> None:
    """Why this probability: what the model was taught, and how often it is right when it is as sure as here."""
    measured = models.calibration(view.model_id)
    reads = f" from a model that reads {measured.accuracy:.1%}" if measured else ""
    closer = st.expander(f"Why {view.confidence:.0%}{reads}, and what is “sure”?", key="how_sure", on_change="rerun")
    if closer.open:
        with closer:
            sureness(view, measured)


def sureness(view: View, measured: Calibration | None) -> None:
    if measured is None:
        st.markdown("A probability is what softmax makes of the logits, and no promise. The pages call it **sure** "
                    f"from {view.details.unsure_below:.0%} on. How often this model is right when it is how sure has "
                    "not been measured; of the explorer's own model it has.")
        return
    words, curve = st.columns([2, 3], gap="large")
    with words:
        st.markdown("\n\n".join(calibration.in_words(
            measured, view.confidence, view.details.unsure_below, view.config.classes, view.own
        )))
    with curve:
        show(calibration.curve(measured, view.confidence, view.dark, view.own), "calibration")


def try_this(view: View) -> None:
    if view.is_photo:
        parts.try_this("choose another class, and see which blocks spoke for it. Then move the square on the first "
                       "page until the model hesitates between two answers: in which block does it make up its mind?")
        return
    parts.try_this(f"choose another class, and see which blocks spoke for it. Then draw a {view.trace.prediction} that "
                   "hesitates between two digits, and look for the block in which the model makes up its mind.")
