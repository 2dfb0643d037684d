"""Patchify: the picture becomes a row of patches."""

from vit.ui import frame
from vit.ui.panels import patches

view = frame.begin("patches")
frame.title("How does a picture become words?", patches.sentence(view))
patches.cut(view)
patches.reading_order(view)
patches.try_this(view)
patches.other_sizes(view)
patches.quiz(view)
frame.end("patches")
