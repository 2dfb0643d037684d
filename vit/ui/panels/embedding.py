"""Embedding: a patch becomes a vector, and gets a place."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import embedding
from vit.charts.patches import token_name, token_word
from vit.interventions import PositionsOff
from vit.numbers import bracketed, fixed, number, plain, rounded
from vit.ui import models, parts, state
from vit.ui.show import show
from vit.ui.view import View


def sentence(view: View) -> str:
    return (f"The {view.config.patch_values} numbers of patch {view.patch + 1} are multiplied by one matrix. "
            f"Out come **{view.config.width} numbers**: the patch as the model thinks of it.")


def one_output(view: View) -> parts.OneOf:
    return parts.OneOf("output", view.config.width)


def matrix_E(view: View) -> np.ndarray:
    """Its columns, one below the other, as PyTorch keeps them: (D, P²C)."""
    return view.weights("embedding.projection.weight")


def projection(view: View) -> None:
    """One patch times one column of E, as pictures and as numbers."""
    pictures, maths = st.columns([3, 2], gap="large")
    with pictures:
        multiplied(view)
        all_outputs(view)
    with maths:
        one_output(view).control()
        summed(view)


def multiplied(view: View) -> None:
    output = one_output(view).chosen
    squares = embedding.product(
        view.trace.patches[view.patch], matrix_E(view)[output], view.config, view.patch, output, view.dark
    )
    keys = "square_patch", "square_filter", "square_products"
    for column, picture, key in zip(st.columns(3), squares, keys, strict=True):
        with column:
            show(picture, key)
            st.caption(picture.alt)


def all_outputs(view: View) -> None:
    output = one_output(view)
    st.markdown(f"**All {output.count} outputs** of patch {view.patch + 1}; number {output.chosen + 1} is chosen. "
                "Click another.")
    show(embedding.outputs(view.trace.patch_embeddings[view.patch], output.chosen, view.dark), "outputs",
         output.choose)


def summed(view: View) -> None:
    patch, output = view.patch, one_output(view).chosen
    bias, e = view.weights("embedding.projection.bias")[output], view.trace.patch_embeddings[patch, output]
    parts.equation(
        r"\mathbf{e} = \mathbf{x}_p\,\mathbf{E} + \mathbf{b}",
        [rf"\mathbf{{E}} \in \mathbb{{R}}^{{P^2 C \times D}} = \mathbb{{R}}^{{{view.config.patch_values} \times "
         rf"{view.config.width}}}",
         rf"e_{{{output + 1}}} = \sum_{{i=1}}^{{{view.config.patch_values}}} x_i\,E_{{i,{output + 1}}} + "
         rf"b_{{{output + 1}}} = {fixed(e, 4)}"],
    )
    product = explain.dot_product(view.trace.patches[patch], matrix_E(view)[output], bias, total=e)
    parts.provenance(f"output {output + 1}", f"Patch {patch + 1} times column {output + 1} of E, summed, plus a bias.",
                     product, "x", "E")


def as_convolution(view: View) -> None:
    """Why a Conv2d is the same: its kernel stands on one patch, then on the next."""
    config, output, patch = view.config, one_output(view).chosen, view.patch
    P, after = config.patch_size, (patch + 1) % config.patches
    difference = models.conv2d_difference(view.model_id, view.drawing)
    st.markdown(f"Code often writes this as a **Conv2d** with a kernel of {P} x {P} pixels and stride {P}. Filter "
                f"{output + 1} is such a kernel: it stands on one patch, multiplies pixel by pixel and sums, then "
                f"moves on by {P} pixels. It never stands on two patches at once, and no pixel is left out. So each "
                "stand is one patch times one column of E:")
    *stands, words = st.columns([2, 2, 3], gap="large")
    for column, at, moment in zip(stands, (patch, after), ("here", "next"), strict=True):
        with column:
            show(embedding.kernel_on(view.trace.image, matrix_E(view)[output], config, at, view.dark),
                 f"kernel_{moment}")
            st.caption(f"{moment}: on patch {at + 1} it gives **{plain(view.trace.patch_embeddings[at, output], 3)}**, "
                       f"which is output {output + 1} of patch {at + 1}")
    words.markdown(f"All {config.width} filters on all {config.patches} patches: {config.patches} x {config.width} "
                   f"numbers. Computed both ways just now, they differ by at most **{number(difference)}**: it is the "
                   "same thing.")


def filters(view: View) -> None:
    P, output = view.config.patch_size, one_output(view)
    colour = "" if view.config.channels == 1 else " in colour, grey where it does not care"
    st.markdown(f"The **{output.count} filters** of this model: the columns of E, each as a {P} x {P} picture{colour}. "
                "Click one: it stands above, large.")
    show(embedding.all_filters(matrix_E(view), view.config.channels, output.chosen, view.dark), "filters",
         output.choose)


def cls_and_positions(view: View) -> None:
    trace, token, output = view.trace, view.token, one_output(view)
    before = trace.cls_token if token == 0 else trace.patch_embeddings[token - 1]
    rows = np.stack([before, trace.position_embeddings[token], trace.tokens[token]])
    what, where, both = rows[:, output.chosen]
    parts.equation(
        r"(1)\quad \mathbf{z}_0 = [\mathbf{x}_{\text{class}};\, \mathbf{x}_p^1\mathbf{E};\, "
        r"\mathbf{x}_p^2\mathbf{E};\, \dots;\, \mathbf{x}_p^N\mathbf{E}] + \mathbf{E}_{pos}",
        [rf"\mathbf{{E}} \in \mathbb{{R}}^{{P^2 C \times D}} \qquad \mathbf{{E}}_{{pos}} \in "
         rf"\mathbb{{R}}^{{(N+1) \times D}} = \mathbb{{R}}^{{{view.config.tokens} \times {view.config.width}}}",
         rf"\text{{number {output.chosen + 1} of {token_word(token)}}}:",
         rf"{rounded(what)} + {bracketed(where)} = {rounded(both)}"],
    )
    st.markdown("Before the patches stands one more token, **CLS**: a vector without pixels that is learned, and the "
                "same for every picture. From it the answer will be read. Each token then gets its position added, "
                "learned too.")
    st.markdown(f"**{token_name(token, view.config)}**: "
                f"{'the learned vector' if token == 0 else 'its pixels times E, plus the bias'} (top), "
                "plus where it is (middle), gives what enters the first block (bottom).")
    show(embedding.token_sum(rows, output.chosen, view.dark), "sum", lambda cell: output.choose(cell % output.count))


def position_maps(view: View) -> None:
    similarity = explain.position_similarity(view.trace.position_embeddings)
    beside, apart = explain.neighbour_similarity(similarity)
    others = f", and patches further apart by **{plain(apart)}**" if view.config.grid > 2 else ""
    st.markdown("For each patch, a small map of **how alike its position vector is to all others** (cosine). Nobody "
                "tells a model which patches are neighbours; in this one, neighbours are alike by "
                f"**{plain(beside)}** on average{others}. Click a map to choose its patch.")
    show(embedding.all_positions(similarity, explain.most_alike(similarity), view.patch, view.dark), "positions",
         lambda cell: state.choose(token=cell + 1))


def z0(view: View) -> None:
    config = view.config
    st.markdown(f"**z₀**: {config.tokens} tokens (rows, CLS first) of {config.width} numbers each. This is all that "
                "the blocks get. Point at a number to read it, click to choose its token.")
    picture = embedding.all_tokens(view.trace.tokens, config, view.token, view.dark)
    show(picture, "z0", lambda cell: state.choose(token=cell // picture.columns))


def quiz(view: View) -> None:
    def without_positions() -> tuple[str, str]:
        lost, answer = view.changed_by(PositionsOff()), view.trace.prediction
        same, confidence = lost.prediction == answer, lost.probabilities.max()
        return "yes" if same else "no", (
            "It gets the same patches as a heap, in no order. "
            + (f"{view.confidence:.1%} become {confidence:.1%}." if same else
               f"It reads {view.told(lost.prediction, '')} with {confidence:.1%}, and gives {view.word(answer)} "
               f"{lost.probabilities[answer]:.1%} instead of {view.confidence:.1%}.")
        )

    parts.quiz("positions", "Take all positions away, so that no patch knows where it was. Does the model still read "
               f"{view.told(view.trace.prediction, '')}?", ["yes", "no"], without_positions)


def try_this(view: View) -> None:
    parts.try_this("choose “Position maps”, once with the trained and once with the untrained model (in the sidebar). "
                   "Nobody tells a model which patches are neighbours: who has found out?")
