"""What a visitor shows to a model: a digit from the pen or the camera, or a photo in colour.

    strokes  what the pen did on the canvas
    ink      strokes, a canvas or a photo to 28x28, as the makers of MNIST would have done it
    photo    where the ink is on a photographed piece of paper
    colour   the square of a photo that a model gets, in its colours
    files    picture files of visitors, opened with care
    code     digit or photo, however it came, as a short code that fits into a link
    unipen   files of pen strokes
"""

from vit.drawing.code import (
    MOST_POINTS,
    Drawing,
    for_model,
    from_code,
    from_photo,
    from_picture,
    from_sample,
    from_sample_photo,
    from_strokes,
)
from vit.drawing.colour import BadDrawing
from vit.drawing.strokes import BRUSH, SIDE, from_fabric, to_fabric, under_the_pen

__all__ = [
    "BRUSH", "MOST_POINTS", "SIDE", "BadDrawing", "Drawing", "for_model", "from_code", "from_fabric", "from_photo",
    "from_picture", "from_sample", "from_sample_photo", "from_strokes", "to_fabric", "under_the_pen",
]  # fmt: skip
