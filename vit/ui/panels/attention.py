"""Attention: where every head looks, and each step from query and key to what a head brings home."""

import numpy as np
import streamlit as st

from vit import explain
from vit.charts import attention, vectors
from vit.charts.patches import token_name, token_word
from vit.numbers import fixed, latex_size
from vit.ui import models, parts, state
from vit.ui.panels import heads, projections, side_by_side
from vit.ui.show import show
from vit.ui.view import View

HARDLY = 0.05  # bits: a smaller difference between mean entropies is called none
HELPS = 0.0005  # probability: what hiding a patch must win, so that the sentence shows it


def chosen_key(view: View) -> int:
    """The token looked at: the visitor's choice, else the one that gets most."""
    chosen: int | None = st.session_state.get("chosen_key")
    return int(row_of(view).argmax()) if chosen is None or chosen >= view.config.tokens else chosen


def choose_key(token: int) -> None:
    st.session_state.chosen_key = token


def choose_head(view: View, cell: int) -> None:
    """All heads counted through, layer by layer."""
    state.choose(layer=cell // view.config.heads, head=cell % view.config.heads)


def row_of(view: View) -> np.ndarray:
    return view.trace.blocks[view.layer].pattern[view.head, view.token]


def sentence(view: View) -> str:
    """What the chosen head looks at, and which of all looks hardest."""
    row = row_of(view)
    best = np.argsort(-row[1:])[:3] + 1
    patches = ", ".join(map(str, sorted(best)))
    return (f"Head {view.head + 1} of layer {view.layer + 1} spends **{row[best].sum():.0%}** of "
            f"{token_word(view.token)}'s attention on the patches {patches}, and {row[0]:.0%} on CLS. {hardest(view)}")


def hardest(view: View) -> str:
    look, count = explain.hardest_look(view.trace, view.token), view.config.depth * view.config.heads
    return (f"Of all {count} heads, **head {look.head + 1} of layer {look.layer + 1}** looks hardest: {look.share:.0%} "
            f"on patch {look.patch + 1} alone.")


def where_it_looks(view: View, other: View | None) -> None:
    """All heads at once, and the chosen one over the digit; of both, where something stands beside."""
    if other is not None:
        beside_each_other(view, other)
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        every_head(view, one_scale())
    with right:
        over_digit(view)


def one_scale() -> bool:
    return st.toggle("one scale for all maps", key="shared_scale")


def beside_each_other(view: View, other: View) -> None:
    if not side_by_side.are_the_same(view, other):
        st.markdown(side_by_side.heads_in_words(view, other))
    shared = one_scale()
    for column, one, another, side in zip(st.columns(2, gap="large"), (view, other), (other, view), ("", "_beside"),
                                          strict=True):
        with column:
            side_by_side.headline(one, another, hardest(one))
            every_head(one, shared, side)
            over_digit(one, side)


def every_head(view: View, shared: bool, side: str = "") -> None:
    show(attention.every_head(view.trace, view.token, view.layer, view.head, shared), f"heads{side}",
         lambda cell: choose_head(view, cell))


def over_digit(view: View, side: str = "") -> None:
    row, token, key = row_of(view), view.token, chosen_key(view)
    st.markdown(f"**{token_word(token)} looks at your {view.thing}** · layer {view.layer + 1}, head {view.head + 1}")
    show(attention.over_digit(
        view.trace.image, row, alt=f"attention over the {view.thing}", width=430,
        caption=f"of the attention · {row[0]:.1%} goes to CLS", chosen=[token - 1] if token else [],
        dashed=[key - 1] if key and key != token else [],
    ), f"over_digit{side}", lambda cell: choose_key(cell + 1))
    st.caption("Click a patch to unfold how much it gets, below; a broken frame marks it."
               + (f" The whole frame is {token_word(token)}, which looks." if token else ""))


def look_closer(view: View) -> None:
    parts.look_closer(view, {
        "One pair": one_pair, "q, k and v": queries_keys_values, "Heads to z′": projections.heads_to_stream,
        "Whole pattern": whole_pattern, "Heads that matter": heads_that_matter, "What counts": what_counts,
        "All heads": all_heads, "Why √d_k": why_scaling, "GPT's mask": causal_mask,
    }, "attention_panel")


def one_pair(view: View) -> None:
    """q·k, divided by √d_k, softmax, times v: with the numbers of one query and one key."""
    key = chosen_key(view)
    st.session_state.key_widget = key
    st.selectbox(f"{token_word(view.token)} looks at", range(view.config.tokens), key="key_widget", width=320,
                 on_change=lambda: choose_key(st.session_state.key_widget),
                 format_func=lambda token: token_name(token, view.config))
    first, second = st.columns(2, gap="large")
    with first:
        match(view, key)
    with second:
        divide_and_softmax(view, key)
    collect(view)


def match(view: View, key: int) -> None:
    block, head, query, d_k = view.trace.blocks[view.layer], view.head, view.token, view.config.head_width
    q, k, score = block.q[head, query], block.k[head, key], block.scores[head, query, key]
    st.markdown(f"**1 · How well do they match?** {token_word(query)}'s query times {token_word(key)}'s key, "
                f"d_k = D/h = {view.config.width}/{view.config.heads} = {d_k} products. Where both come "
                "from, “q, k and v” tells.")
    show(attention.products(q, k, view.dark), "qk")
    parts.provenance("q · k", "Component by component, summed.",
                     explain.dot_product(q, k, total=float(score * np.sqrt(d_k))), "q", "k")


def divide_and_softmax(view: View, key: int) -> None:
    block, d_k = view.trace.blocks[view.layer], view.config.head_width
    scores, row = block.scores[view.head, view.token], row_of(view)
    score, total = float(scores[key]), np.exp(scores.astype(float)).sum()
    st.markdown(f"**2 · Divide by √d_k, then softmax** over all {view.config.tokens} tokens")
    parts.equation(
        r"a_{ij} = \frac{e^{q_i \cdot k_j / \sqrt{d_k}}}{\sum_m e^{q_i \cdot k_m / \sqrt{d_k}}}",
        [rf"\frac{{q \cdot k}}{{\sqrt{{{d_k}}}}} = \frac{{{fixed(score * np.sqrt(d_k), 3)}}}{{{np.sqrt(d_k):.3f}}} = "
         rf"{fixed(score, 3)}",
         rf"a = \frac{{e^{{{fixed(score, 3)}}}}}{{{latex_size(total)}}} = "
         rf"\frac{{{latex_size(np.exp(score))}}}{{{latex_size(total)}}} = {row[key]:.4f}"],
    )
    show(attention.score_strip(scores, key, view.dark), "strip_scores", choose_key)
    show(attention.weight_strip(row, key), "strip_weights", choose_key)


def collect(view: View) -> None:
    block, head, query = view.trace.blocks[view.layer], view.head, view.token
    out = block.heads[head, query]
    column = int(np.abs(out).argmax())
    pieces = explain.dot_product(row_of(view), block.v[head, :, column], total=float(out[column]))
    st.markdown(f"**3 · Collect.** Every token's value vector, weighted by the attention it gets, is summed. "
                f"This is what head {head + 1} brings to {token_word(query)}; what becomes of all heads together, "
                "“Heads to z′” tells.")
    parts.equation(r"\text{head}_i = \sum_j a_{ij}\,\mathbf{v}_j")
    show(vectors.row(out, view.dark, alt=f"what head {head + 1} brings home", caption=f"{len(out)} numbers",
                     chosen=[column]), "brought")
    parts.provenance(f"component {column + 1}", "The largest of these numbers: attention times value, over all tokens.",
                     pieces, "a", "v", count_from=0)


def queries_keys_values(view: View) -> None:
    projections.queries_keys_values(view, chosen_key(view))


def heads_that_matter(view: View) -> None:
    """All single switch-offs, measured on this drawing."""
    heads.that_matter(view, "heads_that_matter", lambda cell: choose_head(view, cell),
                      [view.layer * view.config.heads + view.head])
    st.caption(f"Measured on your {view.own} alone: each head gives 0 in turn, and the model answers again. Click one "
               "to look into it; on the page What if you can switch off several.")


def whole_pattern(view: View) -> None:
    T, looks = view.config.tokens, view.trace.blocks[view.layer].pattern[view.head]
    st.markdown(f"All {T} x {T} weights of this head: **a row is who looks, a column at whom**. Each row sums to 1 "
                f"(here between {looks.sum(-1).min():.6f} and {looks.sum(-1).max():.6f}). Click a cell to choose "
                f"the pair{': “One pair” tells its number' if looks.size > attention.MOST_CELLS else ''}.")

    def choose_pair(cell: int) -> None:
        state.choose(token=cell // T)
        choose_key(cell % T)

    show(attention.whole_pattern(looks, view.token, chosen_key(view)), "pattern", choose_pair)


def all_heads(view: View) -> None:
    heads = explain.all_heads(view.trace)
    distance, bits = heads.distance[view.layer, view.head], heads.entropy[view.layer, view.head]
    st.markdown(f"Averaged over all tokens that look, not only {token_word(view.token)}: head {view.head + 1} of layer "
                f"{view.layer + 1} looks **{distance:.1f} pixels** far, with an entropy of **{bits:.2f} bits** "
                f"(0 is one token only, {np.log2(view.config.tokens):.2f} is all alike). Colour is entropy. Click a "
                "point to choose its head.")
    show(attention.distances(heads, view.layer, view.head), "distance", lambda cell: choose_head(view, cell))


def what_counts(view: View) -> None:
    """Looking is not using: attention, what it adds up to over the blocks, and what hiding a patch really costs."""
    trace, config = view.trace, view.config
    lost = models.occlusion(view.model_id, view.drawing)
    other = "another digit" if view.reads_digits else "another answer"
    worst = int(lost.argmax())
    helps = int(lost.argmin())
    st.markdown("Which patches does the answer stand on? Two guesses from attention, and a measurement on your "
                f"{view.own}: each of the {config.patches} patches hidden in turn, so that nobody can look at it. "
                f"Without **patch {worst + 1}** the {view.answer} goes from {view.confidence:.1%} to "
                f"{view.confidence - lost[worst]:.1%}."
                + (f" Hiding can help, too: without **patch {helps + 1}** (blue) it goes up to "
                   f"{view.confidence - lost[helps]:.1%}, so what is there speaks for {other}."
                   if lost[helps] < -HELPS else ""))
    guesses = {"CLS looks": (trace.blocks[-1].pattern[:, 0].mean(0), "last layer, mean of its heads"),
               "Attention rollout": (explain.rollout(trace), "through all layers")}
    *columns, last = st.columns(3, gap="medium")
    for column, (title, (row, meaning)) in zip(columns, guesses.items(), strict=True):
        with column:
            st.markdown(f"**{title}** · {meaning}")
            agrees = f"order agrees by {explain.same_order(row[1:], lost):.2f}"
            show(attention.over_digit(trace.image, row, alt=title, caption=agrees), f"counts_{title[:3]}")
    with last:
        st.markdown(f"**Measured** · what the {view.answer} loses without it")
        show(attention.losses(trace.image, lost), "counts_lost")
    st.caption(f"All three are about this one {view.own}, in this model. Order agrees: rank correlation with the "
               "measurement. 1 is the same order of patches, 0 is none.")


def why_scaling(view: View) -> None:
    scaled, raw = explain.scaling_effect(view.trace.blocks[view.layer], view.head)
    with_it, without, d_k = scaled.entropy.mean(), raw.entropy.mean(), view.config.head_width
    effect = "sharper" if without < with_it - HARDLY else "flatter" if without > with_it + HARDLY else "neither"
    told = parts.quiz(
        f"scaling_{view.layer}_{view.head}", "Leave out 1/√d_k in this head. Do its rows get flatter or sharper?",
        ["flatter", "sharper", "neither"],
        lambda: (effect, f"The mean entropy goes from {with_it:.2f} to {without:.2f} bits."),
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
              if effect == "sharper" else "in this head it hardly matters")
    st.markdown(f"Without the division this head's rows would have **{without:.2f} bits** of entropy "
                f"instead of **{with_it:.2f}**: {lesson}.")
    for column, (title, attended) in zip(st.columns(2), {"with 1/√d_k": scaled, "without": raw}.items(), strict=True):
        with column:
            st.markdown(f"**{title}** · {token_word(view.token)} looks")
            show(attention.over_digit(
                view.trace.image, attended.pattern[view.token], alt=f"attention {title}",
                caption=f"{attended.entropy[view.token]:.2f} bits",
            ), f"scaling_{title[:7]}")


def causal_mask(view: View) -> None:
    block = view.trace.blocks[view.layer]
    st.markdown("A ViT has **no mask**: every token may look at every other, before or after it. GPT, which has to "
                "guess the next word, hides what comes later. With GPT's mask CLS, the first token, would see **only "
                "itself**, and every picture would get the same answer.")
    patterns = {"this model": block.pattern[view.head],
                "the same scores under GPT's mask": explain.causal_pattern(block, view.head)}
    for column, (title, looks) in zip(st.columns(2), patterns.items(), strict=True):
        with column:
            st.markdown(f"**{title}** · CLS looks at itself with {looks[0, 0]:.0%}")
            show(attention.pattern(looks, alt=title), f"mask_{title[:4]}")


def try_this(view: View) -> None:
    where = "in the middle of a thing" if view.is_photo else "on a stroke"
    parts.try_this(f"choose a patch {where} as the token, and step through the layers. Does it look nearby or far? "
                   "“All heads” measures it for every head.")
