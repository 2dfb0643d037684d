"""Per layer, per head: Q, K, V, scores, softmax, weighted values."""

import streamlit as st

from vit.charts import attention, colours
from vit.charts.patches import token_word
from vit.ui import attention_panels, frame, parts, state

view = frame.begin("attention")
config, trace, layer, head, token = view.config, view.trace, view.layer, view.head, view.token
name = token_word(token)
frame.title("Who looks at whom?", attention_panels.sentence(view))


def choose_map(cell: int) -> None:
    state.choose(layer=cell // config.heads)
    state.choose(head=cell % config.heads)


mosaic, over_digit = st.columns([3, 2], gap="large")
with mosaic:
    shared = st.toggle("one scale for all maps", key="shared_scale")
    parts.grid_picture(
        attention.head_mosaic(trace, token, shared), config.depth, config.heads, key="heads", width=860,
        alt=f"where {name} looks, in every head of every layer", chosen=[layer * config.heads + head], lines=False,
        on_choose=choose_map, labels=attention.head_labels(trace, token),
        scale=(colours.WARM, 0, attention.maps(trace, token).max(), "one scale for all") if shared
        else (colours.WARM, 0, "max", "each map on its own scale"),
        row_names=[str(i + 1) for i in range(config.depth)], column_names=[str(i + 1) for i in range(config.heads)],
        corner="layer ↓  head →",
    )
with over_digit:
    attention_panels.over_digit(view)

panels = {
    "One pair": attention_panels.one_pair, "Whole pattern": attention_panels.whole_pattern,
    "All heads": attention_panels.all_heads, "What counts": attention_panels.what_counts,
    "Why √d_k": attention_panels.why_scaling, "GPT's mask": attention_panels.causal_mask,
}
shown = st.segmented_control("Look closer", panels, default="One pair", required=True, key="attention_panel")
panels[shown](view)
parts.try_this("choose a patch on a stroke as the token, and step through the layers. Does it look nearby or far? "
               "“All heads” measures it for every head.")
frame.end("attention")
