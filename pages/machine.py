"""The whole model in one picture that unfolds and moves."""

from vit.ui import frame
from vit.ui.panels import machine

view = frame.begin("machine")
frame.title("What happens inside, all at once?", machine.sentence(view))
machine.one_or_two(view)
machine.try_this(view)
frame.end("machine")
