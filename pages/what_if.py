"""Take parts of the model, or of the picture, away."""

import streamlit as st

from vit.charts import attention, colours, draw, patches
from vit.ui import frame, models, parts, state, what_if

view = frame.begin("what_if")
trace, config = view.trace, view.config
changes = what_if.changes(config)
after = models.trace(state.get().model, view.drawing, *(change.probe for change in changes))
order, hidden, silent = what_if.order(config), what_if.hidden_places(config), what_if.silent_heads(config)

without_attention = what_if.blocks_off("attention", config)


def switch_head(cell: int) -> None:
    layer, head = divmod(cell, config.heads)
    if layer not in without_attention:
        what_if.toggle("heads", (layer, head))


def what_a_click_does(layer: int, head: int) -> str:
    if layer in without_attention:
        return "off, with its whole block"
    return "off" if (layer, head) in silent else "click to switch off"


before = f"As it is, the model reads your drawing as a **{trace.prediction}** with {view.confidence:.1%}. "
frame.title(
    "What if a part were missing?",
    before + ("Take something away, and see whether it can do without." if not changes else
              f"With {what_if.listed([change.words for change in changes])} it reads a **{after.prediction}** with "
              f"{after.probabilities.max():.1%}."),
)
picture, switches, answer = st.columns([5, 4, 4], gap="large")
with picture:
    st.markdown("**Hide patches**: click them. Nobody can look at a grey one.")
    parts.grid_picture(
        patches.rearranged(trace.image, config, order, hidden).pixels, config.grid, config.grid,
        key="missing_patches", width=490, alt="your digit; click patches to hide them",
        on_choose=lambda place: what_if.toggle("patches", order[place]),
        labels=[f"patch {patch + 1}: {'hidden' if place in hidden else 'click to hide'}"
                for place, patch in enumerate(order)],
    )
    empty = [i for i, pixels in enumerate(patches.cut(trace.image, config.patch_size)) if not pixels.any()]
    with st.container(horizontal=True):
        st.button("Hide empty ones", on_click=what_if.hide, args=(empty,))
        st.button("Put all back", icon=":material/replay:", on_click=what_if.put_back, disabled=not what_if.as_code())
with switches:
    st.markdown("**Take parts of the model away**")
    what_if.switches()
with answer:
    colour = "inherit" if view.would_be_sure(after.probabilities.max()) else colours.CALM
    st.html(f"<div data-testid='changed-answer' style='font-size:5rem;font-weight:700;line-height:1;color:{colour}'>"
            f"{after.prediction}</div>{draw.bars(after.probabilities, trace.probabilities)}")
    st.caption("Bars: with your changes. Marks: as it was.")

what_if.blocks(config)
st.markdown("**Switch heads off**: click them. Each small map shows where CLS looks with your changes."
            + (" Under GPT's mask it sees only itself: all are dark." if what_if.is_on("causal") else ""))
parts.grid_picture(
    attention.head_mosaic(after, token=0, off=silent), config.depth, config.heads, key="missing_heads", width=620,
    lines=False, alt="where CLS looks; click a head to switch it off", row_names=range(1, config.depth + 1),
    column_names=range(1, config.heads + 1), corner="layer ↓ head →",
    on_choose=switch_head,
    labels=[f"layer {layer + 1}, head {head + 1}: {what_a_click_does(layer, head)}"
            for layer in range(config.depth) for head in range(config.heads)],
    scale=(colours.WARM, 0, "max", "each map on its own scale; grey: off"),
)
parts.try_this("shuffle the patches. Then switch positions off, and shuffle once more: why does the order no longer "
               "matter? After that, hide patches one by one: how few does your digit need?")
