"""Draw, pick or upload a digit; what the model sees of it; its answer."""

from vit.ui import frame, models
from vit.ui import view as views
from vit.ui.panels import draw

view = views.current()
frame.title("What does the model see?", draw.sentence(view))
draw.drawing_to_answer(view)
draw.samples(view)
draw.equation(view)
draw.try_this(view)
frame.end("draw")
models.warm_up()
