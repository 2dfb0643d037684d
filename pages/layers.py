"""The residual stream: what attention and MLP add, block by block."""

import streamlit as st

from vit import explain
from vit.charts import colours, layers
from vit.charts.numbers import bracketed, plain, rounded
from vit.charts.patches import token_word
from vit.ui import frame, parts, state

view = frame.begin("layers")
trace, config, layer, token, dark = view.trace, view.config, view.layer, view.token, view.dark
block, D, number, name = trace.blocks[layer], config.width, layer + 1, token_word(token)
sizes = explain.added(trace)


def choose_on(maps: layers.TokenMaps, before_first_block: int):
    """A click on a map chooses its block and its token."""
    def choose(cell: int) -> None:
        if place := maps.at(cell):
            state.choose(layer=max(place[1] - before_first_block, 0))
            state.choose(token=place[2])
    return choose


def one_of(count: int, kind: str, otherwise: int) -> int:
    """The chosen one of many numbers, and a plain control for it; until one is chosen, the most telling."""
    kept, widget = f"chosen_{kind}", f"{kind}_widget"
    chosen = min(st.session_state.get(kept, otherwise), count - 1)

    def changed():
        st.session_state[kept] = st.session_state[widget] - 1

    st.session_state[widget] = chosen + 1
    st.number_input(f"{kind}, of {count}", 1, count, key=widget, on_change=changed)
    return chosen


def keep(kind: str, count: int):
    def choose(cell: int) -> None:
        st.session_state[f"chosen_{kind}"] = cell % count
    return choose


frame.title(
    "What does each block add?",
    f"Nothing is ever replaced. Block {number} finds **{name}** and adds to it twice: attention adds "
    f"{layers.of_its_length(sizes.attention[layer, token])}, the MLP {layers.of_its_length(sizes.mlp[layer, token])}.",
)
river = layers.river(trace.blocks, sizes, token, layer)
st.html(layers.legend(name))
parts.grid_picture(
    river.pixels, river.rows, river.columns, key="river", width=1400, labels=river.labels, words=river.words,
    alt=f"the length of {name} and of what every block adds to it", lines=False,
    on_choose=lambda cell: state.choose(layer=cell % config.depth),
)
parts.try_this(
    f"click block 1, then block {config.depth}. Which one rewrites {name}, and which one only touches it up? "
    f"Then choose {'another patch' if token else 'a patch'} in the sidebar: is it the same there?"
)

st.subheader(f"Block {number}, as a sum", anchor=False)
strips, values, limit = layers.addition(block, token, dark)
picture, maths = st.columns([3, 2], gap="large")
with maths:
    component = one_of(D, "number", otherwise=int(abs(values[-1]).argmax()))
    before, attention, middle, mlp, after = values[:, component]
    parts.equation(
        r"(2)\quad \mathbf{z}'_\ell = \mathrm{MSA}(\mathrm{LN}(\mathbf{z}_{\ell-1})) + \mathbf{z}_{\ell-1}",
        rf"z'_{{{number}}} = \underbrace{{{rounded(attention)}}}_{{\text{{attention}}}} + "
        rf"\underbrace{{{bracketed(before)}}}_{{z_{{{layer}}}}} = {rounded(middle)}",
    )
    parts.equation(
        r"(3)\quad \mathbf{z}_\ell = \mathrm{MLP}(\mathrm{LN}(\mathbf{z}'_\ell)) + \mathbf{z}'_\ell",
        rf"z_{{{number}}} = \underbrace{{{rounded(mlp)}}}_{{\text{{MLP}}}} + "
        rf"\underbrace{{{bracketed(middle)}}}_{{z'_{{{number}}}}} = {rounded(after)}",
    )
with picture:
    st.markdown(f"All **{D} numbers** of {name} and what is added to them. Number {component + 1} is chosen; "
                "click another to follow it.")
    parts.grid_picture(
        strips, 5, D, key="addition", alt=f"block {number} as a sum of bar codes", width=900, lines=False,
        labels=[f"number {i % D + 1}: {parts.number(value)}" for i, value in enumerate(values.ravel())],
        chosen=range(component, 5 * D, D), on_choose=keep("number", D),
        row_names=layers.addition_names(layer),
        scale=(colours.signed(dark), -limit, limit, "one scale for all five"),
    )


def mlp_units() -> None:
    hidden = block.mlp_hidden[token]
    awake = int((hidden > 0).sum())
    mosaic, limit = layers.mlp_mosaic(hidden, dark), colours.limit_of(hidden)
    picture, maths = st.columns([3, 2], gap="large")
    with maths:
        unit = one_of(len(hidden), "unit", otherwise=int(hidden.argmax()))
        product = explain.mlp_unit(trace, view.model, layer, token, unit)
        parts.provenance(
            f"unit {unit + 1}, before GELU",
            f"{name} after LayerNorm, times the unit's {D} weights, plus its bias.", product, "x", "w",
        )
        parts.equation(
            r"\mathrm{GELU}(x) = x \cdot \Phi(x)",
            rf"{bracketed(product.total)} \cdot {explain.normal_below(product.total):.3f} = "
            rf"{rounded(hidden[unit])}",
        )
    with picture:
        st.markdown(f"The MLP of block {number} puts **{len(hidden)} questions** to {name}, one per cell, and "
                    f"{awake} of them ({awake / len(hidden):.0%}) get an answer above 0. Click one.")
        parts.grid_picture(
            mosaic.pixels, mosaic.rows, mosaic.columns, key="mlp", alt="the MLP's hidden units", width=900,
            chosen=[unit], labels=mosaic.labels, on_choose=keep("unit", len(hidden)),
            scale=(colours.signed(dark), -limit, limit, "after GELU, this token"),
        )


def layer_norm() -> None:
    places = ["before attention", "before the MLP"]
    first = places[0] == st.segmented_control("which LayerNorm", places, default=places[0], required=True,
                                              key="which_norm", label_visibility="collapsed")
    x = (block.resid_pre if first else block.resid_mid)[token]
    norm = view.model.blocks[layer].norm1 if first else view.model.blocks[layer].norm2
    numbers = explain.layer_norm_numbers(x, norm)
    gamma, beta = norm.weight[component].item(), norm.bias[component].item()
    table, maths = st.columns([3, 2], gap="large")
    with table:
        st.markdown(f"{'Attention' if first else 'The MLP'} does not read {name} as it is: first **its {D} "
                    "numbers get mean 0 and deviation 1**, then each has a learned γ and β of its own.")
        st.html(layers.norm_table(x, numbers, component))
    with maths:
        parts.equation(
            r"\mathrm{LN}(\mathbf{x}) = \frac{\mathbf{x} - \mu}{\sigma} \cdot \gamma + \beta",
            [rf"\mu = {rounded(numbers.mean)} \qquad \sigma = {rounded(numbers.deviation)}",
             rf"\frac{{{rounded(x[component])} - {bracketed(numbers.mean)}}}{{{rounded(numbers.deviation)}}} = "
             rf"{rounded(numbers.normalised[component])}",
             rf"{rounded(numbers.normalised[component])} \cdot {bracketed(gamma)} + {bracketed(beta)} = "
             rf"{rounded(numbers.out[component])}"],
        )


def all_tokens() -> None:
    maps = layers.added_maps(sizes, token, layer)
    st.markdown("To whom do **attention** (top) and the **MLP** (bottom) add most? One map per block, with "
                "CLS as the strip above its patches. Point at a cell to read it, click to choose it.")
    parts.grid_picture(
        maps.picture.pixels, maps.picture.rows, maps.picture.columns, key="added_maps", width=1400,
        lines=False, alt="what each block adds to each token", labels=maps.picture.labels,
        on_choose=choose_on(maps, 0),
        scale=(colours.WARM, "0", "most", "length added, each map on its own scale"),
    )


def alike() -> None:
    similarity = explain.token_similarity(trace)
    others = layers.mean_of_others(similarity, token)
    maps = layers.similarity_maps(similarity, token, layer, dark)
    st.markdown(f"**How alike is {name} to the others?** One map after the embedding, then one after each "
                f"block. Its cosine with the other tokens is {plain(others[0])} on average at first, and "
                f"{plain(others[-1])} at the end. Click a cell to choose its block and its token.")
    parts.grid_picture(
        maps.picture.pixels, maps.picture.rows, maps.picture.columns, key="similarity", width=1400,
        lines=False, alt=f"cosine of {name} with every token at every depth", labels=maps.picture.labels,
        on_choose=choose_on(maps, 1), scale=(colours.signed(dark), -1, 1, "cosine, one scale for all"),
    )


def cls_path() -> None:
    path = explain.cls_path(trace)
    st.markdown("**CLS has no pixels of its own**: all that it knows of your drawing, the blocks have added. "
                "How near is it to what the answer will be read from? The bars are its cosine with its last "
                f"state; below them is its length, from {path.length[0]:.1f} to {path.length[-1]:.1f}.")
    st.html(layers.path(path))


panels = {"MLP": mlp_units, "LayerNorm": layer_norm, "All tokens": all_tokens, "Tokens alike": alike,
          "Path of CLS": cls_path}
panels[st.segmented_control("Look closer", list(panels), default="MLP", required=True, key="closer_layers")]()
frame.end("layers")
