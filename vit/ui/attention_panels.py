"""The panels of the attention page, each on one question about the chosen head."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import attention, colours, embedding, patches
from vit.charts.numbers import latex_size, plain
from vit.charts.patches import token_word
from vit.ui import models, parts, state

WHO_AT_WHOM = "who looks ↓  at whom →"
HARDLY = 0.05  # bits: a smaller difference between mean entropies is called none

def chosen_key(view) -> int:
    """The token looked at: the visitor's choice, else the one that gets most."""
    chosen = st.session_state.get("chosen_key")
    if chosen is None or chosen >= view.config.tokens:
        return int(row_of(view).argmax())
    return chosen


def choose_key(token: int) -> None:
    st.session_state.chosen_key = token


def row_of(view) -> np.ndarray:
    return view.trace.blocks[view.layer].pattern[view.head, view.token]


def sentence(view) -> str:
    row = row_of(view)
    best = np.argsort(-row[1:])[:3] + 1
    patches = ", ".join(map(str, sorted(best)))
    return (f"Head {view.head + 1} of layer {view.layer + 1} spends **{row[best].sum():.0%}** of "
            f"{token_word(view.token)}'s attention on the patches {patches}, and {row[0]:.0%} on CLS.")


def over_digit(view) -> None:
    row, config = row_of(view), view.config
    key = chosen_key(view)
    st.markdown(f"**{token_word(view.token)} looks at your digit** · layer {view.layer + 1}, head {view.head + 1}")
    parts.grid_picture(
        attention.over_digit(view.trace.image, row), config.grid, config.grid, key="over_digit", width=430,
        alt="attention over the digit", chosen=[view.token - 1] if view.token else [],
        dashed=[key - 1] if key and key != view.token else [],
        labels=[f"patch {i + 1}: {value:.1%}" for i, value in enumerate(row[1:])],
        on_choose=lambda cell: choose_key(cell + 1),
        scale=(colours.WARM, 0, row[1:].max(), f"of the attention · {row[0]:.1%} goes to CLS"),
    )
    st.caption("Click a patch to unfold how much it gets, below; a broken frame marks it."
               + (f" The whole frame is {token_word(view.token)}, which looks." if view.token else ""))


def one_pair(view) -> None:
    """q·k, divided by √d_k, softmax, times v: with the numbers of one query and one key."""
    block, head, query, key = view.trace.blocks[view.layer], view.head, view.token, chosen_key(view)
    d_k = view.config.head_width
    q, k, score = block.q[head, query], block.k[head, key], block.scores[head, query, key]
    scores, row, v = block.scores[head, query], block.pattern[head, query], block.v[head]
    product = explain.dot_product(q, k, total=score * np.sqrt(d_k))

    def choose():
        choose_key(st.session_state.key_widget)

    st.session_state.key_widget = key
    st.selectbox(f"{token_word(query)} looks at", range(view.config.tokens), key="key_widget", on_change=choose,
                 format_func=lambda token: patches.token_name(token, view.config), width=320)
    first, second = st.columns(2, gap="large")
    with first:
        st.markdown(f"**1 · How well do they match?** {token_word(query)}'s query times {token_word(key)}'s key, "
                    f"{d_k} products:")
        vectors = np.stack([q, k, q * k])
        limit = colours.limit_of(vectors)
        parts.grid_picture(
            embedding.matrix(vectors, view.dark), 3, d_k, key="qk", alt="query, key and their products", width=560,
            words={i: plain(value) for i, value in enumerate(vectors.ravel())} if d_k <= 8 else None,
            labels=[parts.number(value) for value in vectors.ravel()], row_names=["q", "k", "q·k"],
            scale=(colours.signed(view.dark), -limit, limit, "one scale for all"),
        )
        parts.provenance("q · k", "Component by component, summed.", product, "q", "k")
    with second:
        st.markdown(f"**2 · Divide by √d_k, then softmax** over all {view.config.tokens} tokens")
        total = np.exp(scores.astype(float)).sum()
        parts.equation(
            r"a_{ij} = \frac{e^{q_i \cdot k_j / \sqrt{d_k}}}{\sum_m e^{q_i \cdot k_m / \sqrt{d_k}}}",
            [rf"\frac{{q \cdot k}}{{\sqrt{{{d_k}}}}} = \frac{{{product.total:.3f}}}{{{np.sqrt(d_k):.3f}}} = "
             rf"{score:.3f}",
             rf"a = \frac{{e^{{{score:.3f}}}}}{{{latex_size(total)}}} = "
             rf"\frac{{{latex_size(np.exp(float(score)))}}}{{{latex_size(total)}}} = "
             rf"{row[key]:.4f}"],
        )
        limit = colours.limit_of(scores)
        strip(scores[None], view, "scores", colours.signed(view.dark), -limit, limit, "scores of all tokens")
        strip(row[None], view, "weights", colours.WARM, 0, row.max(), f"after softmax: they sum to {row.sum():.4f}")
    st.markdown(f"**3 · Collect.** Every token's value vector, weighted by the attention it gets, is summed. "
                f"This is what head {head + 1} brings to {token_word(query)}:")
    out = block.heads[head, query]
    column = int(np.abs(out).argmax())
    pieces = explain.dot_product(row, v[:, column], total=out[column])
    parts.equation(r"\text{head}_i = \sum_j a_{ij}\,v_j",
                   parts.row_vector(out))
    parts.provenance(f"component {column + 1}", "The largest of these numbers: attention times value, over all tokens.",
                     pieces, "a", "v", count_from=0)


def strip(values: np.ndarray, view, key: str, scale, low: float, high: float, caption: str) -> None:
    parts.grid_picture(
        np.repeat(colours.paint(values, scale, low, high), 3, axis=0), 1, values.shape[1], key=f"strip_{key}",
        alt=caption,
        width=640, lines=False, chosen=[chosen_key(view)], on_choose=choose_key, scale=(scale, low, high, caption),
        labels=[f"{token_word(i)}: {parts.number(value)}" for i, value in enumerate(values[0])],
    )


def whole_pattern(view) -> None:
    block, T = view.trace.blocks[view.layer], view.config.tokens
    looks = block.pattern[view.head]
    st.markdown(f"All {T} x {T} weights of this head: **a row is who looks, a column at whom**. Each row sums to 1 "
                f"(here between {looks.sum(-1).min():.6f} and {looks.sum(-1).max():.6f}). Click a cell to choose "
                f"the pair.")

    def choose(cell: int) -> None:
        state.choose(token=cell // T)
        choose_key(cell % T)

    parts.grid_picture(
        attention.pattern(block, view.head), T, T, key="pattern", width=640, alt="the whole attention pattern",
        lines=False, corner=WHO_AT_WHOM,
        chosen=[view.token * T + chosen_key(view)], on_choose=choose,
        labels=[f"{token_word(i // T)} → {token_word(i % T)}: {value:.1%}" for i, value in enumerate(looks.ravel())],
        scale=(colours.WARM, 0, looks.max(), "attention"),
    )


def all_heads(view) -> None:
    heads = explain.all_heads(view.trace)
    here = heads.distance[view.layer, view.head], heads.entropy[view.layer, view.head]
    st.markdown(f"Averaged over all tokens that look, not only {token_word(view.token)}: head {view.head + 1} of layer "
                f"{view.layer + 1} looks **{here[0]:.1f} pixels** far, with an entropy of **{here[1]:.2f} bits** "
                f"(0 is one token only, {np.log2(view.config.tokens):.2f} is all alike). Colour is entropy.")
    parts.chart(attention.distance_chart(heads, view.layer, view.head), key="distance",
                alt="mean attention distance of each head by layer")


def why_scaling(view) -> None:
    scaled, raw = explain.scaling_effect(view.trace.blocks[view.layer], view.head)
    with_it, without, d_k = scaled.entropy.mean(), raw.entropy.mean(), view.config.head_width
    told = parts.quiz(
        f"scaling_{view.layer}_{view.head}", "Leave out 1/√d_k in this head. Do its rows get flatter or sharper?",
        ["flatter", "sharper", "neither"],
        lambda: ("sharper" if without < with_it - HARDLY else "flatter" if without > with_it + HARDLY else "neither",
                 f"The mean entropy goes from {with_it:.2f} to {without:.2f} bits."),
    )
    st.markdown("A sum of d_k independent products of variance 1 has variance d_k, and dividing by √d_k brings it back "
                "to 1. This head's numbers are not independent; what the division does to its scores is exact:")
    parts.equation(r"\operatorname{Var}(q \cdot k) = d_k \;\Rightarrow\; "
                   r"\operatorname{Var}\!\left(\frac{q \cdot k}{\sqrt{d_k}}\right) = 1",
                   [r"\text{spread of this head's scores}:",
                    rf"{raw.spread:.2f} \;\to\; \frac{{{raw.spread:.2f}}}{{\sqrt{{{d_k}}}}} = {scaled.spread:.2f}"])
    if not told:
        return
    lesson = ("sharper, and harder to learn, since a softmax near 0 and 1 passes hardly any gradient"
              if without < with_it - HARDLY else "in this head it hardly matters")
    st.markdown(f"Without the division this head's rows would have **{without:.2f} bits** of entropy "
                f"instead of **{with_it:.2f}**: {lesson}.")
    T = view.config.tokens
    for column, (title, attended) in zip(st.columns(2), {"with 1/√d_k": scaled, "without": raw}.items(), strict=True):
        with column:
            row = attended.pattern[view.token]
            st.markdown(f"**{title}** · {token_word(view.token)} looks")
            parts.grid_picture(
                attention.over_digit(view.trace.image, row), view.config.grid, view.config.grid,
                key=f"scaling_{title[:7]}",
                alt=f"attention {title}", width=330, labels=[f"patch {i}: {row[i]:.1%}" for i in range(1, T)],
                scale=(colours.WARM, 0, row[1:].max(), f"{attended.entropy[view.token]:.2f} bits"),
            )


def what_counts(view) -> None:
    """Looking is not using: attention, what it adds up to over the blocks, and what hiding a patch really costs."""
    trace, config = view.trace, view.config
    lost = models.occlusion(state.get().model, view.drawing)
    worst, limit = int(lost.argmax()), colours.limit_of(lost)
    st.markdown("Which patches does the answer stand on? Two guesses from attention, and a measurement: each of the "
                f"{config.patches} patches hidden in turn, so that nobody can look at it. Without "
                f"**patch {worst + 1}** the {trace.prediction} goes from {view.confidence:.1%} to "
                f"{view.confidence - lost[worst]:.1%}.")
    guesses = {"CLS looks": (trace.blocks[-1].pattern[:, 0].mean(0), "last layer, mean of its heads"),
               "Attention rollout": (explain.rollout(trace), "through all layers")}
    *columns, last = st.columns(3, gap="medium")
    for column, (title, (row, meaning)) in zip(columns, guesses.items(), strict=True):
        with column:
            st.markdown(f"**{title}** · {meaning}")
            parts.grid_picture(
                attention.over_digit(trace.image, row), config.grid, config.grid, key=f"counts_{title[:3]}", width=330,
                alt=title, labels=[f"patch {i + 1}: {value:.1%}" for i, value in enumerate(row[1:])],
                scale=(colours.WARM, 0, row[1:].max(), f"order agrees by {explain.same_order(row[1:], lost):.2f}"),
            )
    with last:
        st.markdown(f"**Measured** · what the {trace.prediction} loses without it")
        parts.grid_picture(
            attention.losses(trace.image, lost, limit), config.grid, config.grid, key="counts_lost", width=330,
            alt="what the answer loses without each patch",
            labels=[f"patch {i + 1}: {100 * value:+.2f} points" for i, value in enumerate(-lost)],
            scale=(attention.LOSSES, -limit, limit, "probability lost (red), won (blue)"),
        )
    st.caption("Order agrees: rank correlation with the measurement. 1 is the same order of patches, 0 is none.")


def causal_mask(view) -> None:
    block, T = view.trace.blocks[view.layer], view.config.tokens
    masked = attention.causal(block, view.head)
    looks = block.pattern[view.head]
    st.markdown("A ViT has **no mask**: every token may look at every other, before or after it. GPT, which has to "
                "guess the next word, hides what comes later. With GPT's mask CLS, the first token, would see **only "
                "itself**, and every picture would get the same answer.")
    for column, (title, values) in zip(
        st.columns(2), {"this model": looks, "the same scores under GPT's mask": masked}.items(), strict=True
    ):
        with column:
            st.markdown(f"**{title}** · CLS looks at itself with {values[0, 0]:.0%}")
            parts.grid_picture(
                colours.paint(values, colours.WARM, 0, values.max()), T, T, key=f"mask_{title[:4]}", alt=title,
                width=420, lines=False, scale=(colours.WARM, 0, values.max(), "attention"), corner=WHO_AT_WHOM,
            )
