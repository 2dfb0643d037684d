"""Patchify: the picture becomes a row of patches."""

import streamlit as st

from vit.charts import patches, vectors
from vit.numbers import number, row_vector
from vit.ui import parts, state
from vit.ui.show import show
from vit.ui.view import View


def sentence(view: View) -> str:
    config = view.config
    return (f"Your {view.thing} becomes **{config.patches} patches** of {config.patch_size} x {config.patch_size} "
            "pixels. The model reads them like the words of a sentence.")


def choose_patch(patch: int) -> None:
    state.choose(token=patch + 1)


def cut(view: View) -> None:
    """The digit with its grid, and the chosen patch as numbers."""
    left, right = st.columns([5, 6], gap="large")
    with left:
        show(patches.grid(view.trace.image, view.config, view.patch, view.thing), "grid", choose_patch)
    with right:
        one_patch(view)


def one_patch(view: View) -> None:
    config, patch = view.config, view.patch
    P, N, (row, column) = config.patch_size, config.patches, divmod(patch, config.grid)
    st.markdown(f"#### Patch {patch + 1}: row {row + 1}, column {column + 1}")
    picture, words = st.columns([2, 3])
    with picture:
        show(patches.one_patch(view.trace.image, config, patch), "patch")
    if config.channels > 1:
        show(patches.three_colours(view.trace.image, config, patch), "patch_colours")
    words.markdown(in_words(view))
    measured_on = view.normalisation.measured_on
    st.markdown("The model gets each pixel scaled, " + (
        f"so that all training pixels of {measured_on} together have mean 0 and deviation 1:" if measured_on else
        "as its makers have scaled those that it learned from:"))
    mean, deviation = map(by_channel, (view.normalisation.mean, view.normalisation.deviation))
    parts.equation(
        rf"x = \frac{{\text{{pixel}}/255 - {mean}}}{{{deviation}}}",
        rf"N = \frac{{H}}{{P}} \cdot \frac{{W}}{{P}} = \frac{{{config.image_size}}}{{{P}}} \cdot "
        rf"\frac{{{config.image_size}}}{{{P}}} = {N}",
    )
    parts.equation(
        rf"\mathbf{{x}}_p^{{{patch + 1}}} \in \mathbb{{R}}^{{P^2 C}} = \mathbb{{R}}^{{{config.patch_values}}}",
        rf"\mathbf{{x}}_p^{{{patch + 1}}} = {row_vector(view.trace.patches[patch])}",
    )
    show(vectors.row(view.trace.patches[patch], view.dark, alt=f"patch {patch + 1} as one row of numbers", width=640,
                     caption=f"patch {patch + 1} as one row: {config.patch_values} numbers"), "patch_row")


def in_words(view: View) -> str:
    """What the numbers of a patch are."""
    P, count = view.config.patch_size, view.config.patch_values
    if view.config.channels == 1:
        return (f"{P} x {P} = **{P * P} pixels**, each from 0 (paper) to 255 (full ink). "
                f"Read row by row they are one list of {count} numbers, the raw token.")
    return (f"{P} x {P} = {P * P} pixels of 3 colours, each from 0 (none of it) to 255. All reds row by row, then all "
            f"greens, then all blues: **{P * P} · 3 = {count} numbers** in one list, the raw token.")


def by_channel(values: tuple[float, ...]) -> str:
    """Of red, green and blue where there are colours."""
    return str(values if len(values) > 1 else values[0])


def reading_order(view: View) -> None:
    last = view.config.patches - 1
    st.markdown(f"**The sentence the model reads**: {view.config.patches} patches in reading order. "
                "Before them the model puts one token more, **CLS**, which has no pixels: it is learned, and the same "
                "for every picture. From it the answer will be read.")
    show(patches.sentence(view.trace.image, view.config, view.patch), "strip",
         lambda cell: choose_patch(min(cell, last)))


def try_this(view: View) -> None:
    if view.is_photo:
        parts.try_this("click a patch where colours or edges meet, then one of an even surface. Each is one token, and "
                       "has as many numbers.")
        return
    empty = f": all its numbers are {number(view.trace.patches.min())}." if view.config.channels == 1 else "."
    parts.try_this("click a patch with much ink, then an empty one. An empty patch is a token too" + empty)


def other_sizes(view: View) -> None:
    tokens = view.config.tokens
    with st.expander("What would other patch sizes do?"):
        st.dataframe(patches.other_sizes(view.config), hide_index=True)
        st.caption(f"In every head each of the N+1 tokens (the patches and CLS) is compared with each. "
                   f"Here that is {tokens}² = {tokens**2} scores.")


def quiz(view: View) -> None:
    config = view.config
    finer = (2 * config.grid) ** 2
    growth = (finer + 1) ** 2 / config.tokens**2
    truth = f"about {growth:.0f} times"
    parts.quiz(
        "patches", "Twice as many patches along each side: how much more work would attention have?",
        ["2 times", "4 times", truth],
        lambda: (truth, f"That gives {finer} patches instead of {config.patches}, and attention compares each token "
                 f"with each: ({finer + 1} / {config.tokens})² = {growth:.1f} times the scores."),
    )
