"""CLS to logits to probabilities; the answer after each layer."""

from vit.ui import frame
from vit.ui.panels import logits, side_by_side

view = frame.begin("logits")
frame.title("Why this answer?", logits.sentence(view))
logits.class_control(view)
logits.answer(view, side_by_side.control(view))
logits.one_logit(view)
logits.one_probability(view)
logits.why_not_the_rival(view)
logits.how_sure(view)
logits.try_this(view)
frame.end("logits")
