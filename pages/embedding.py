"""Linear projection, CLS token, positions."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import colours, embedding, patches
from vit.charts.numbers import bracketed, plain, rounded
from vit.charts.patches import token_word
from vit.interventions import PositionsOff
from vit.ui import frame, models, parts, state

view = frame.begin("embedding")
config, trace, patch, dark = view.config, view.trace, view.patch, view.dark
D, C, P = config.width, config.channels, config.patch_size
output = min(st.session_state.get("chosen_output", 0), D - 1)
E, bias = view.weights("embedding.projection.weight"), view.weights("embedding.projection.bias")
x, e = trace.patches[patch], trace.patch_embeddings[patch]


def without_positions() -> tuple[str, str]:
    lost = models.trace(state.get().model, view.drawing, PositionsOff())
    same = lost.prediction == trace.prediction
    return "yes" if same else "no", (
        "It gets the same patches as a heap, in no order. "
        + (f"{view.confidence:.1%} become {lost.probabilities.max():.1%}." if same else
           f"It reads a {lost.prediction} with {lost.probabilities.max():.1%}, and gives {trace.prediction} "
           f"{lost.probabilities[trace.prediction]:.1%} instead of {view.confidence:.1%}.")
    )


def choose_output(chosen: int) -> None:
    st.session_state.chosen_output = min(chosen, D - 1)


frame.title("How does a patch become a vector?",
            f"The {config.patch_values} numbers of patch {patch + 1} are multiplied by one matrix. "
            f"Out come **{D} numbers**: the patch as the model thinks of it.")

st.session_state.output_widget = output + 1
product = explain.dot_product(x, E[output], bias[output], total=e[output])
pictures, maths = st.columns([3, 2], gap="large")
with pictures:
    squares = {
        f"patch {patch + 1}, as the model gets it": embedding.patch_shape(x, C),
        f"filter {output + 1}: a row of E": embedding.patch_shape(E[output], C),
        "their products": embedding.patch_shape(x * E[output], C) * C,
    }
    for column, (caption, values) in zip(st.columns(3), squares.items(), strict=True):
        with column:
            limit = colours.limit_of(values)
            parts.grid_picture(
                embedding.matrix(values, dark), P, P, key=f"square_{caption[:5]}", alt=caption, width=230,
                words={i: plain(value) for i, value in enumerate(values.ravel())} if P < 5 else None,
                labels=[parts.number(value) for value in values.ravel()],
                scale=(colours.signed(dark), -limit, limit, ""),
            )
            st.caption(caption)
    st.markdown(f"**All {D} outputs** of patch {patch + 1}; number {output + 1} is chosen. Click another.")
    limit = colours.limit_of(e)
    parts.grid_picture(
        embedding.bar_code(e, dark), 1, D, key="outputs", alt="the patch's embedding as stripes", width=900,
        chosen=[output], lines=False, on_choose=choose_output,
        scale=(colours.signed(dark), -limit, limit, "this patch"),
        labels=[f"{i + 1}: {parts.number(value)}" for i, value in enumerate(e)],
    )
with maths:
    st.number_input(f"output, of {D}", 1, D, key="output_widget",
                    on_change=lambda: choose_output(st.session_state.output_widget - 1))
    parts.equation(
        r"\mathbf{e} = \mathbf{E}\,x_p + \mathbf{b}",
        rf"e_{{{output + 1}}} = \sum_{{i=1}}^{{{config.patch_values}}} E_{{{output + 1},i}}\,x_i + b_{{{output + 1}}} "
        rf"= {e[output]:.4f}",
    )
    parts.provenance(f"output {output + 1}", f"Patch {patch + 1} times row {output + 1} of E, summed, plus a bias.",
                     product, "x", "E")
    difference = explain.conv2d_difference(view.model, trace.image)
    st.caption(f"Code often writes this as a Conv2d with kernel and stride {P}. Computed both ways just now, the "
               f"{config.patches} x {D} numbers differ by at most {parts.number(difference)}: it is the same thing.")

shown = st.segmented_control(
    "Look closer", ["Filters", "CLS and positions", "Position maps", "z₀"], default="Filters", required=True,
    key="closer"
)
if shown == "Filters":
    picture, limit = embedding.filters(E, C, dark)
    columns = embedding.mosaic_columns(D)
    st.markdown(f"The **{D} filters** of this model: the rows of E, each as a {P} x {P} picture. Click one.")
    parts.grid_picture(
        picture, -(-D // columns), columns, key="filters", alt="all filters", width=900, chosen=[output],
        lines=False, on_choose=choose_output, labels=[f"filter {i + 1}" for i in range(D)],
        scale=(colours.signed(dark), -limit, limit, "one scale for all"),
    )
elif shown == "CLS and positions":
    token, name = view.token, patches.token_name(view.token, config)
    before = trace.cls_token if token == 0 else trace.patch_embeddings[token - 1]
    rows = np.stack([before, trace.position_embeddings[token], trace.tokens[token]])
    limit = colours.limit_of(rows)
    parts.equation(
        r"\mathbf{z}_0 = [x_{\text{class}}; x_p^1\mathbf{E}; \dots; x_p^N\mathbf{E}] + \mathbf{E}_{pos}",
        [rf"\text{{number {output + 1} of {token_word(token)}}}:",
         rf"{rounded(before[output])} + {bracketed(rows[1, output])} = {rounded(rows[2, output])}"],
    )
    st.markdown(f"**{name}**: {'a vector of its own that no pixel touches' if token == 0 else 'its pixels'} (top), "
                "plus where it is (middle), gives what enters the first block (bottom).")
    parts.grid_picture(
        np.repeat(embedding.matrix(rows, dark), 4, axis=0), 3, D, key="sum", alt="token plus position",
        width=1100, lines=False,
        labels=[f"{i % D + 1}: {parts.number(value)}" for i, value in enumerate(rows.ravel())],
        chosen=[output, D + output, 2 * D + output], on_choose=lambda cell: choose_output(cell % D),
        scale=(colours.signed(dark), -limit, limit, "one scale for all three"),
    )
elif shown == "Position maps":
    similarity = explain.position_similarity(trace.position_embeddings)
    beside, apart = explain.neighbour_similarity(similarity)
    others = f", and patches further apart by **{plain(apart)}**" if config.grid > 2 else ""
    st.markdown("For each patch, a small map of **how alike its position vector is to all others** (cosine). Nobody "
                "tells a model which patches are neighbours; in this one, neighbours are alike by "
                f"**{plain(beside)}** on average{others}. Click a map to choose its patch.")
    parts.grid_picture(
        embedding.position_maps(similarity, dark), config.grid, config.grid, key="positions", width=640,
        alt="similarity of position embeddings", chosen=[patch], lines=False,
        on_choose=lambda cell: state.choose(token=cell + 1), labels=[
            f"patch {i + 1}: most like patch {int(np.delete(row, i).argmax()) + 1 + (np.delete(row, i).argmax() >= i)}"
            for i, row in enumerate(similarity)
        ],
        scale=(colours.signed(dark), -1, 1, "cosine, one scale for all"),
    )
else:
    limit = colours.limit_of(trace.tokens)
    st.markdown(f"**z₀**: {config.tokens} tokens (rows, CLS first) of {D} numbers each. This is all that the blocks "
                f"get.")
    parts.grid_picture(
        embedding.matrix(trace.tokens, dark), config.tokens, 1, key="z0", alt="all tokens before the first block",
        width=1000, chosen=[view.token], lines=False, on_choose=lambda token: state.choose(token=token),
        labels=[patches.token_name(i, config) for i in range(config.tokens)],
        scale=(colours.signed(dark), -limit, limit, "one scale for all"),
    )
parts.quiz("positions", "Take all positions away, so that no patch knows where it was. Does the model still read a "
           f"{trace.prediction}?", ["yes", "no"], without_positions)
parts.try_this("choose “Position maps”, once with the trained and once with the untrained model (in the sidebar). "
               "Nobody tells a model which patches are neighbours: who has found out?")
frame.end("embedding")
