"""Layers: the residual stream, and what attention and MLP add to it block by block."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import layers
from vit.charts.patches import token_word
from vit.numbers import bracketed, plain, rounded
from vit.ui import parts, state
from vit.ui.show import show
from vit.ui.view import View
from vit.variants import VARIANTS


def sentence(view: View) -> str:
    sizes, layer, token = explain.added(view.trace), view.layer, view.token
    if not explain.is_a_sum(view.config):
        return (f"**This model is not the paper's.** {VARIANTS[view.config.variant].difference} So the stream is no "
                "sum: what the colours call added is what attention and MLP give.")
    most = explain.adds_most(sizes, token)
    return (f"Nothing is ever replaced. Block {layer + 1} finds **{token_word(token)}** and adds to it twice: "
            f"attention adds {layers.of_its_length(sizes.attention[layer, token])}, the MLP "
            f"{layers.of_its_length(sizes.mlp[layer, token])}. "
            + ("**No block adds more** to it, for the length that it finds." if most == layer else
               f"Of all blocks, **block {most + 1}** adds the most to it, for the length that it finds: attention "
               f"{layers.of_its_length(sizes.attention[most, token])}, the MLP "
               f"{layers.of_its_length(sizes.mlp[most, token])}."))


def river(view: View) -> None:
    show(layers.river_legend(view.token))
    show(layers.river(view.trace.blocks, explain.added(view.trace), view.token, view.layer), "river",
         lambda cell: state.choose(layer=cell % view.config.depth))


def try_this(view: View) -> None:
    parts.try_this(
        f"click block 1, then block {view.config.depth}. Which one rewrites {token_word(view.token)}, and which one "
        f"only touches it up? Then choose {'another patch' if view.token else 'a patch'} in the sidebar: is it the "
        "same there?"
    )


def one_number(view: View, values: np.ndarray) -> parts.OneOf:
    """One of the token's D numbers: at first the largest of those that leave the block."""
    return parts.OneOf("number", view.config.width, otherwise=explain.furthest_from_zero(values[-1]))


def block_sum(view: View) -> None:
    """Equations (2) and (3), with this block's numbers."""
    layer = view.layer
    values = explain.block_sum(view.trace.blocks[layer], view.token)
    component = one_number(view, values)
    adds = explain.is_a_sum(view.config)
    st.subheader(f"Block {layer + 1}, as a sum" if adds else f"Block {layer + 1}, step by step", anchor=False)
    picture, maths = st.columns([3, 2], gap="large")
    with maths:
        component.control()
        if adds:
            both_equations(values[:, component.chosen], layer)
        else:
            other_equations(view.config.variant)
    with picture:
        st.markdown(f"All **{component.count} numbers** of {token_word(view.token)} and what is added to them. Number "
                    f"{component.chosen + 1} is chosen; click another to follow it.")
        show(layers.addition(values, layer, component.chosen, view.dark, adds), "addition",
             lambda cell: component.choose(cell % component.count))


def both_equations(steps: np.ndarray, layer: int) -> None:
    before, attention, middle, mlp, after = steps
    parts.equation(
        r"(2)\quad \mathbf{z}'_\ell = \mathrm{MSA}(\mathrm{LN}(\mathbf{z}_{\ell-1})) + \mathbf{z}_{\ell-1}",
        r"(3)\quad \mathbf{z}_\ell = \mathrm{MLP}(\mathrm{LN}(\mathbf{z}'_\ell)) + \mathbf{z}'_\ell",
    )
    parts.equation(
        rf"z'_{{{layer + 1}}} = \underbrace{{{rounded(attention)}}}_{{\text{{attention}}}} + "
        rf"\underbrace{{{bracketed(before)}}}_{{z_{{{layer}}}}} = {rounded(middle)}",
        rf"\rule{{0pt}}{{1.8em}} z_{{{layer + 1}}} = \underbrace{{{rounded(mlp)}}}_{{\text{{MLP}}}} + "
        rf"\underbrace{{{bracketed(middle)}}}_{{z'_{{{layer + 1}}}}} = {rounded(after)}",
    )


def other_equations(variant: str) -> None:
    """Of the two variants whose stream is no sum."""
    if variant == "post-norm":
        attention = r"\mathrm{LN}(\mathrm{MSA}(\mathbf{z}_{\ell-1}) + \mathbf{z}_{\ell-1})"
        mlp = r"\mathrm{LN}(\mathrm{MLP}(\mathbf{z}'_\ell) + \mathbf{z}'_\ell)"
    else:
        attention, mlp = (r"\mathrm{MSA}(\mathrm{LN}(\mathbf{z}_{\ell-1}))",
                          r"\mathrm{MLP}(\mathrm{LN}(\mathbf{z}'_\ell))")
    parts.equation(rf"\mathbf{{z}}'_\ell = {attention}", rf"\mathbf{{z}}_\ell = {mlp}")


def mlp(view: View) -> None:
    hidden = view.trace.blocks[view.layer].mlp_hidden[view.token]
    unit = parts.OneOf("unit", len(hidden), otherwise=int(hidden.argmax()))
    picture, maths = st.columns([3, 2], gap="large")
    with maths:
        unit.control()
        one_unit(view, unit.chosen, hidden[unit.chosen])
    with picture:
        awake = int((hidden > 0).sum())
        st.markdown(f"The MLP of block {view.layer + 1} puts **{unit.count} questions** to {token_word(view.token)}, "
                    f"one per cell, and {awake} of them ({awake / unit.count:.0%}) get an answer above 0. Click one.")
        show(layers.mlp_mosaic(hidden, unit.chosen, view.dark), "mlp", unit.choose)


def one_unit(view: View, unit: int, answer: float) -> None:
    product = explain.mlp_unit(view.trace, view.model, view.layer, view.token, unit)
    parts.provenance(
        f"unit {unit + 1}, before GELU",
        f"{token_word(view.token)} after LayerNorm, times the unit's {view.config.width} weights, plus its bias.",
        product, "x", "w",
    )
    parts.equation(
        r"\mathrm{GELU}(x) = x \cdot \Phi(x)",
        rf"{bracketed(product.total)} \cdot {explain.normal_below(product.total):.3f} = {rounded(answer)}",
    )


def layer_norm(view: View) -> None:
    places = ["before attention", "before the MLP"]
    first = places[0] == st.segmented_control("which LayerNorm", places, default=places[0], required=True,
                                              key="which_norm", label_visibility="collapsed")
    block, weights = view.trace.blocks[view.layer], view.model.blocks[view.layer]
    x = (block.resid_pre if first else block.resid_mid)[view.token]
    norm = weights.norm1 if first else weights.norm2
    component = one_number(view, explain.block_sum(block, view.token)).chosen
    numbers = explain.layer_norm_numbers(x, norm)
    gamma, beta = norm.weight[component].item(), norm.bias[component].item()
    table, maths = st.columns([3, 2], gap="large")
    with table:
        st.markdown(f"{'Attention' if first else 'The MLP'} does not read {token_word(view.token)} as it is: first "
                    f"**its {len(x)} numbers get mean 0 and deviation 1**, then each has a learned γ and β of its own.")
        show(layers.norm_table(x, numbers, component))
    with maths:
        parts.equation(
            r"\mathrm{LN}(\mathbf{x}) = \frac{\mathbf{x} - \mu}{\sigma} \cdot \gamma + \beta",
            [rf"\mu = {rounded(numbers.mean)} \qquad \sigma = {rounded(numbers.deviation)}",
             rf"\frac{{{rounded(x[component])} - {bracketed(numbers.mean)}}}{{{rounded(numbers.deviation)}}} = "
             rf"{rounded(numbers.normalised[component])}",
             rf"{rounded(numbers.normalised[component])} \cdot {bracketed(gamma)} + {bracketed(beta)} = "
             rf"{rounded(numbers.out[component])}"],
        )


def all_tokens(view: View) -> None:
    maps = layers.added_maps(explain.added(view.trace), view.token, view.layer)
    st.markdown("To whom do **attention** (top) and the **MLP** (bottom) add most? One map per block, with "
                "CLS as the strip above its patches. Point at a cell to read it, click to choose it.")
    show(maps.picture, "added_maps", choose_on(maps, before_first_block=0))


def tokens_alike(view: View) -> None:
    similarity = explain.token_similarity(view.trace)
    others = explain.mean_of_others(similarity, view.token)
    maps = layers.similarity_maps(similarity, view.token, view.layer, view.dark)
    st.markdown(f"**How alike is {token_word(view.token)} to the others?** One map after the embedding, then one after "
                f"each block. Its cosine with the other tokens is {plain(others[0])} on average at first, and "
                f"{plain(others[-1])} at the end. Click a cell to choose its block and its token.")
    show(maps.picture, "similarity", choose_on(maps, before_first_block=1))


def choose_on(maps: layers.TokenMaps, before_first_block: int) -> Callable[[int], None]:
    """A click on a map chooses its block and its token."""
    def choose(cell: int) -> None:
        if place := maps.at(cell):
            _, number, token = place
            state.choose(layer=max(number - before_first_block, 0), token=token)
    return choose


def path_of_cls(view: View) -> None:
    path = explain.cls_path(view.trace)
    st.markdown(f"**CLS has no pixels of its own**: all that it knows of your {view.own}, the blocks have added. "
                "How near is it to what the answer will be read from? The bars are its cosine with its last "
                f"state; below them is its length, from {path.length[0]:.1f} to {path.length[-1]:.1f}.")
    show(layers.path(path, view.dark), "path")
