"""Linear projection, CLS token, positions."""

from vit.ui import frame, parts
from vit.ui.panels import embedding, whole_table

view = frame.begin("embedding")
frame.title("How does a patch become a vector?", embedding.sentence(view))
embedding.projection(view)
parts.look_closer(view, {
    "Filters": embedding.filters, "As a Conv2d": embedding.as_convolution,
    "CLS and positions": embedding.cls_and_positions,
    "Position maps": embedding.position_maps, "z₀": embedding.z0, "The whole table": whole_table.show_table,
}, key="closer")
embedding.quiz(view)
embedding.try_this(view)
frame.end("embedding")
