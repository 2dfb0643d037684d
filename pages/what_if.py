"""Take parts of the model, or of the picture, away."""

from vit.ui import frame
from vit.ui.panels import what_if

view = frame.begin("what_if")
frame.title("What if a part were missing?", what_if.sentence(view))
what_if.answer_in_sight(view)
what_if.changes_and_answer(view)
what_if.blocks(view)
beside = what_if.heads(view)
what_if.try_this(view)
what_if.heads_that_matter(view, beside)
frame.end("what_if")
