"""The two ends of attention, one number at a time: how z becomes q, k and v, and how heads become z'."""

from typing import get_args

import streamlit as st

from vit import explain
from vit.charts import projections, vectors
from vit.charts.patches import token_word
from vit.numbers import bracketed, rounded, with_sign
from vit.ui import parts, state
from vit.ui.show import show
from vit.ui.view import View

NAMES = {"q": "query", "k": "key", "v": "value"}
ASKS = {"q": "what it looks for", "k": "what it has to offer", "v": "what it hands over when it is looked at"}


def reads_norm(view: View) -> bool:
    return view.config.variant != "post-norm"


def queries_keys_values(view: View, key: int) -> None:
    """LN(z)·W + b with one component unfolded; of the token that looks, or of the one looked at."""
    block, d_k = view.trace.blocks[view.layer], view.config.head_width
    kind: explain.Kind = st.segmented_control(
        "which vector", get_args(explain.Kind), default="q", required=True, key="projected_kind",
        format_func=lambda kind: f"{kind} · {NAMES[kind]}", label_visibility="collapsed",
    )
    token = view.token if kind == "q" else key
    vector = getattr(block, kind)[view.head, token]
    component = parts.OneOf("component", d_k, otherwise=explain.furthest_from_zero(vector))
    picture, maths = st.columns([3, 2], gap="large")
    with maths:
        component.control()
        one_component(view, kind, token, component.chosen)
    with picture:
        of = token_word(token)
        st.markdown(f"**{of}'s {NAMES[kind]}** in head {view.head + 1} of layer {view.layer + 1}: {ASKS[kind]}, in "
                    f"{d_k} numbers. Click one.")
        show(vectors.row(vector, view.dark, alt=f"the {NAMES[kind]} of {of}", caption=kind, chosen=[component.chosen],
                         kind=f"{kind}, number"), "projected", component.choose)
        st.markdown(f"Number {component.chosen + 1} is all {view.config.width} numbers of {of}, "
                    f"{'after LayerNorm' if reads_norm(view) else 'as they are'} (x), times one column of "
                    f"W_{kind} (w), summed:")
        show(projections.terms(
            explain.read_by_attention(view.trace, view.model, view.layer)[token],
            explain.projection_column(view.model, view.layer, kind, view.head, component.chosen), view.dark,
            alt=f"{of} times one column of W_{kind}",
        ), "projected_terms")
        if kind != "q":
            st.caption(f"{of} is the token looked at: choose another over the {view.thing}, or in “One pair”.")


def one_component(view: View, kind: explain.Kind, token: int, component: int) -> None:
    config = view.config
    read = r"\mathrm{LN}(\mathbf{z}_{\ell-1})" if reads_norm(view) else r"\mathbf{z}_{\ell-1}"
    product = explain.projected(view.trace, view.model, view.layer, kind, view.head, token, component)
    parts.equation(
        rf"\mathbf{{{kind}}} = {read}\,\mathbf{{W}}_{kind} + \mathbf{{b}}_{kind}",
        [rf"\mathbf{{W}}_{kind} \in \mathbb{{R}}^{{D \times d_k}} = \mathbb{{R}}^{{{config.width} \times "
         rf"{config.head_width}}}",
         rf"d_k = \frac{{D}}{{h}} = \frac{{{config.width}}}{{{config.heads}}} = {config.head_width}"],
    )
    parts.provenance(
        f"{kind}, number {component + 1}",
        f"{token_word(token)} {'after LayerNorm' if reads_norm(view) else 'as it is'}, times column {component + 1} "
        f"of this head's W_{kind}, plus a bias.", product, "x", "w",
    )


def heads_to_stream(view: View) -> None:
    """Concatenation, output projection with one component unfolded, and the residual sum."""
    block, config, token = view.trace.blocks[view.layer], view.config, view.token
    number = parts.OneOf("number", config.width, otherwise=explain.furthest_from_zero(block.resid_post[token]))
    put_in = explain.put_in_by_heads(view.trace, view.model, view.layer, token, number.chosen)
    most = explain.furthest_from_zero(put_in)
    picture, maths = st.columns([3, 2], gap="large")
    with maths:
        number.control()
        mixed(view, number.chosen)
    with picture:
        st.markdown(f"**1 · Side by side.** Each of the {config.heads} heads has brought {config.head_width} numbers "
                    f"to {token_word(token)}. One after the other they are {config.width} again. Click a head.")
        show(projections.concatenation(block.heads[:, token], view.head, view.dark), "concatenated",
             lambda head: state.choose(head=head))
        st.markdown(f"**2 · Mixed.** Number {number.chosen + 1} of what attention adds is all of them (x) times one "
                    "column of W_o (w), summed:")
        show(projections.terms(
            explain.concatenated(block, token), explain.output_column(view.model, view.layer, number.chosen),
            view.dark, alt="all heads' numbers times one column of W_o",
        ), "mixed_terms")
        st.markdown(f"Head by head: **head {most + 1}** puts in the most, {with_sign(put_in[most], 3)}.")
        show(projections.shares(put_in, view.head, view.dark), "put_in", lambda head: state.choose(head=head))


def mixed(view: View, number: int) -> None:
    product = explain.mixed(view.trace, view.model, view.layer, view.token, number)
    parts.equation(
        r"\mathrm{MSA} = [\text{head}_1; \dots; \text{head}_h]\,\mathbf{W}_o + \mathbf{b}_o",
        rf"\mathbf{{W}}_o \in \mathbb{{R}}^{{h\,d_k \times D}} = \mathbb{{R}}^{{{view.config.width} \times "
        rf"{view.config.width}}}",
    )
    parts.provenance(f"MSA, number {number + 1}",
                     f"All heads' numbers, times column {number + 1} of W_o, plus a bias.", product, "x", "w")
    residual_sum(view, number)


def residual_sum(view: View, number: int) -> None:
    block, layer, variant = view.trace.blocks[view.layer], view.layer + 1, view.config.variant
    before, added, after = (values[view.token, number] for values in (block.resid_pre, block.attn_out, block.resid_mid))
    if variant == "no-residuals":
        st.markdown("**3 · In this model nothing is added**: what attention gives takes the place of z.")
        return
    st.markdown(f"**3 · Added** to the {token_word(view.token)} that was there, equation (2):")
    parts.equation(
        rf"\mathbf{{z}}'_{{{layer}}} = \mathrm{{MSA}} + \mathbf{{z}}_{{{layer - 1}}}",
        rf"{rounded(added)} + {bracketed(before)} = {rounded(after)}",
    )
    st.caption("In this model LayerNorm comes now, after the sum." if variant == "post-norm" else
               f"z′ goes on to the MLP of block {layer}: the page Layers follows it.")
