"""Patchify: the picture becomes a row of patches."""

import streamlit as st

from vit.charts import patches
from vit.ui import frame, parts

view = frame.begin("patches")
config, image, patch = view.config, view.trace.image, view.patch
P, N, row, column = config.patch_size, config.patches, patch // config.grid, patch % config.grid
frame.title("How does a picture become words?",
            f"Your digit becomes **{N} patches** of {P} x {P} pixels. "
            "The model reads them like the words of a sentence.")

left, right = st.columns([5, 6], gap="large")
with left:
    parts.grid_picture(
        patches.picture(image), config.grid, config.grid, key="grid", width=490, chosen=[patch],
        alt=f"your digit, cut into {N} patches", on_choose=lambda cell: frame.choose_token(cell + 1),
        labels=[f"patch {i + 1}: row {i // config.grid + 1}, column {i % config.grid + 1}" for i in range(N)],
    )
with right:
    st.markdown(f"#### Patch {patch + 1}: row {row + 1}, column {column + 1}")
    tile = patches.cut(image, P)[patch]
    grey = tile if tile.ndim == 2 else tile.mean(-1)
    one, other = st.columns([2, 3])
    with one:
        parts.grid_picture(patches.picture(tile), P, P, key="patch", width=230, alt="the chosen patch, enlarged",
                           words=dict(enumerate(f"{value:.0f}" for value in grey.ravel())) if P < 8 else None)
    other.markdown(f"{P} x {P} = **{P * P} pixels**, each from 0 (paper) to 255 (full ink). "
                   f"Read row by row they are one list of {config.patch_values} numbers, the raw token.")
    st.markdown("The model gets each pixel scaled, so that all training pixels "
                f"of {view.scaled_by} together have mean 0 and deviation 1:")
    values = view.trace.patches[patch]
    mean, deviation = view.normalisation
    parts.equation(
        rf"x = \frac{{\text{{pixel}}/255 - {mean}}}{{{deviation}}}\qquad x_p^{{{patch + 1}}} \in \mathbb{{R}}^{{P^2 "
        rf"C}}",
        rf"x_p^{{{patch + 1}}} = {parts.row_vector(values)}",
    )
    parts.equation(
        r"N = \frac{H}{P} \cdot \frac{W}{P}",
        rf"N = \frac{{{config.image_size}}}{{{P}}} \cdot \frac{{{config.image_size}}}{{{P}}} = {config.grid} \cdot "
        rf"{config.grid} = {N}",
    )

st.markdown(f"**The sentence the model reads**: {N} patches in reading order.")
parts.grid_picture(
    patches.sentence(image, P), -(-N // patches.PER_LINE), patches.PER_LINE, key="strip", width=1400, chosen=[patch],
        lines=False,
    alt="all patches side by side", on_choose=lambda cell: frame.choose_token(min(cell, N - 1) + 1),
    labels=[f"patch {i + 1}" for i in range(N)],
)
parts.try_this("click a patch with much ink, then an empty one. An empty patch is a token too"
               + (f": all its numbers are {parts.number(view.trace.patches.min())}." if config.channels == 1 else "."))
with st.expander("What would other patch sizes do?"):
    st.dataframe(patches.other_sizes(config), hide_index=True)
    st.caption(f"In every head each of the N+1 tokens (the patches and CLS) is compared with each. "
               f"Here that is {config.tokens}² = {config.tokens**2} scores.")
finer = (2 * config.grid) ** 2
growth = (finer + 1) ** 2 / config.tokens**2
truth = f"about {growth:.0f} times"
parts.quiz(
    "patches", "Twice as many patches along each side: how much more work would attention have?",
    ["2 times", "4 times", truth],
    lambda: (truth, f"That gives {finer} patches instead of {N}, and attention compares each token with "
             f"each: ({finer + 1} / {config.tokens})² = {growth:.1f} times the scores."),
)
frame.end("patches")
