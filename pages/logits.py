"""CLS to logits to probabilities; the answer after each layer."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import colours, logits
from vit.charts.numbers import bracketed, rounded
from vit.ui import frame, parts

view = frame.begin("logits")
trace, config, model, dark = view.trace, view.config, view.model, view.dark
winner = trace.prediction
runner_up = int(np.argsort(trace.logits)[-2])
drawing, label = st.session_state.get("chosen_class", (None, winner))
label = label if drawing == view.drawing.code and label < config.classes else winner
rival = runner_up if label == winner else label
lens = explain.logit_lens(trace, model)
settled = logits.settled_at(lens)


def choose_class(chosen: int) -> None:
    st.session_state.chosen_class = (view.drawing.code, chosen)


frame.title(
    "Why this answer?",
    f"The answer is read from CLS alone: **{winner}** with {view.confidence:.1%}, before {runner_up} with "
    f"{trace.probabilities[runner_up]:.1%}. {logits.settling(settled, config.depth, winner)}",
)
st.session_state.class_widget = label
st.segmented_control("class to look into", range(config.classes), key="class_widget", required=True,
                     on_change=lambda: choose_class(st.session_state.class_widget))
left, right = st.columns(2, gap="large")
with left:
    st.markdown("**The answer after each block**: what the head would read if the model stopped there. Training "
                "teaches it the last row only.")
    picture = logits.lens(lens, label)
    parts.grid_picture(
        picture.pixels, picture.rows, picture.columns, key="lens", width=620,
        alt="the answer after each block", labels=picture.labels, words=picture.words,
        on_choose=lambda cell: choose_class(cell % config.classes),
        row_names=["z₀", *map(str, range(1, config.depth + 1))], column_names=range(config.classes),
        corner="block", scale=(colours.WARM, 0, 1, "probability; each row sums to 1"),
    )
with right:
    st.markdown("**From logits to probabilities**: softmax makes each positive and divides by their sum.")
    st.html(logits.softmax_table(trace.logits, trace.probabilities, label, dark))

st.subheader(f"The logit of {label}", anchor=False)
picture, maths = st.columns([3, 2], gap="large")
with picture:
    st.markdown(f"The {config.width} numbers of CLS after the last norm, times the {config.width} weights "
                f"of the head for {label}. What is red in the last row speaks for {label}, "
                "what is blue against it.")
    rows = logits.reading(trace.cls_out, view.weights("head.weight")[label])
    parts.grid_picture(
        logits.bar_codes(rows, dark), 3, config.width, key="reading", width=900, lines=False,
        alt=f"CLS times the weights of class {label}", row_names=["y", "w", "y·w"],
        labels=[f"number {i % config.width + 1}: {parts.number(n)}" for i, n in enumerate(rows.ravel())],
        scale=(colours.signed(dark), "−", "+", "each row on its own scale, up to "
               + ", ".join(parts.number(colours.limit_of(row)) for row in rows)),
    )
with maths:
    parts.equation(
        r"\mathbf{y} = \mathrm{LN}(\mathbf{z}_L^0) \qquad \text{logits} = \mathbf{W}\mathbf{y} + \mathbf{b}"
    )
    parts.provenance(
        f"logit of {label}", f"CLS after the last norm, times the head's weights for {label}, plus a bias.",
        explain.class_logit(trace, model, label), "y", "w",
    )

st.subheader(f"The probability of {label}", anchor=False)
words, maths = st.columns([3, 2], gap="large")
with words:
    st.markdown(f"All {config.classes} terms, and their sum:")
    st.html(logits.written_sum(trace.logits, label))
with maths:
    parts.equation(
        rf"p_{{{label}}} = \frac{{e^{{\text{{logit}}_{{{label}}}}}}}{{\sum_j e^{{\text{{logit}}_j}}}}",
        logits.softmax_line(trace.logits, trace.probabilities, label),
    )

st.subheader(f"Why {winner} and not {rival}?", anchor=False)
shares = explain.contributions(trace, model, winner, rival)
st.markdown(f"CLS at the end is the sum of what it started with and all that the blocks have added. Divided by the "
            f"deviation that the last norm finds in this drawing, the lead of {winner} over {rival} is a sum too. "
            f"Each block puts in two parts, first attention, then its MLP: red for "
            f"{winner}, blue for {rival}. Each bar starts where the one before it ended.")
st.html(logits.waterfall(shares, dark))
attention, mlp = shares.attention.sum(), shares.mlp.sum()
parts.equation(
    rf"\begin{{aligned}}\text{{logit}}_{{{winner}}} - \text{{logit}}_{{{rival}}} &= z_0 + \sum \text{{attention}} \\"
    r"&\quad + \sum \text{MLP} + \text{fixed}\end{aligned}",
    rf"\begin{{aligned}}{rounded(trace.logits[winner])} - {bracketed(trace.logits[rival])} &= "
    rf"{rounded(shares.embedding)} + {bracketed(attention)} \\ &\quad + {bracketed(mlp)} + "
    rf"{bracketed(shares.constant)} \\ &= {rounded(shares.total)}\end{{aligned}}",
)
gap = abs(shares.total - (float(trace.logits[winner]) - float(trace.logits[rival])))
st.caption("Fixed: the last norm's β and the head's biases, the same for every drawing. The numbers here are "
           "rounded, so a last digit may be one off; unrounded, the sum misses the difference of the logits by "
           f"{gap:.0e}.")
parts.try_this(
    f"choose another class, and see which blocks spoke for it. Then draw a {winner} that hesitates between "
    "two digits, and look for the block in which the model makes up its mind."
)
frame.end("logits")
