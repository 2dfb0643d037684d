"""The door to vit/drawing/ink.py for those who look for it here."""

from vit.drawing.ink import Ink, UnreadablePicture, draw_strokes, from_canvas, from_photo, from_strokes
from vit.drawing.strokes import from_fabric as strokes_of

__all__ = ["Ink", "UnreadablePicture", "draw_strokes", "from_canvas", "from_photo", "from_strokes", "strokes_of"]
