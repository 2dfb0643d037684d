"""Draw, pick or upload a digit, or a photo where the model reads colours; what the model sees of it; its answer."""

from vit.ui import frame, models, state
from vit.ui import view as views
from vit.ui.panels import draw, photo

view = views.current()
if view and state.reads_colours():
    frame.title("What does the model see?", photo.sentence(view))
    photo.photo_to_answer(view)
    photo.samples(view)
    draw.equation(view)
    photo.try_this(view)
else:
    frame.title("What does the model see?", draw.sentence(view))
    draw.drawing_to_answer(view)
    draw.samples(view)
    draw.equation(view)
    draw.try_this(view)
frame.end("draw")
models.warm_up()
