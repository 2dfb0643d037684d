"""The residual stream: what attention and MLP add, block by block."""

from vit.ui import frame, parts
from vit.ui.panels import layers

view = frame.begin("layers")
frame.title("What does each block add?", layers.sentence(view))
layers.river(view)
layers.try_this(view)
layers.block_sum(view)
parts.look_closer(view, {
    "MLP": layers.mlp, "LayerNorm": layers.layer_norm, "All tokens": layers.all_tokens,
    "Tokens alike": layers.tokens_alike, "Path of CLS": layers.path_of_cls,
}, key="closer_layers")
frame.end("layers")
