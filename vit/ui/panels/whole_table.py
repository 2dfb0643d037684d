"""The whole model as one table, from pixels to logits, and the same for the models of the texts."""

import streamlit as st

from vit.charts import walkthrough
from vit.config import PRESETS
from vit.ui.show import show
from vit.ui.view import View


def show_table(view: View) -> None:
    config, base = view.config, PRESETS["base"]
    st.markdown(
        f"**From pixels to logits**, all that this model does with one picture. H = W = {config.image_size} pixels, "
        f"C = {config.channels}, P = {config.patch_size}, N = {config.patches} patches, T = N + 1 tokens, "
        f"D = {config.width}, h = {config.heads} heads of d_k = {config.head_width}, M = {config.mlp_width}, "
        f"K = {config.classes:,} classes. Multiplications are those of matrix products; memory is what each step "
        "leaves, 4 bytes a number."
    )
    show(walkthrough.table(config))
    st.markdown("**Beside the models of the texts**")
    show(walkthrough.side_by_side(config))
    values = base.patch_values
    st.markdown(
        f"**{base.patch_size} · {base.patch_size} · {base.channels} = {values} = D is a coincidence.** In ViT-Base a "
        "patch has as many numbers as a token. The first number follows from how the picture is cut, the second is "
        "chosen freely, and in the other models they differ. In ViT-Base too, the way from one to the other is "
        f"learned: E has {values} · {base.width} = {values * base.width:,} weights."
    )
    show(walkthrough.coincidence())
