"""The door to vit/drawing/ink.py for those who look for it here."""

from vit.drawing.ink import from_canvas, from_photo, from_strokes

__all__ = ["from_canvas", "from_photo", "from_strokes"]
