"""What stands beside the visitor's own drawing and model: another model, or another drawing, as a code for links."""

from vit import drawing as drawings
from vit.drawing import Drawing
from vit.ui import models

DRAWING = "d:"  # what begins so is a drawing, all else is a model's name


def find(code: str) -> None:
    """Raises a sentence if there is no such model or drawing."""
    if drawing_in(code) is None:
        models.find(code)


def drawing_in(code: str) -> Drawing | None:
    """Raises BadDrawing, a ValueError, where a drawing is meant and none is there."""
    return drawings.from_code(code.removeprefix(DRAWING)) if code.startswith(DRAWING) else None
