"""From a drawing or a photographed digit to the 28x28 picture that the makers of MNIST would have made.

They cropped a scanned digit to its ink, scaled its longer side to 20 pixels with grey edges, and moved its
centre of mass to the middle of 28x28 pixels. A pen's width is the drawer's choice, not the digit's, so here
it is brought to what MNIST's pens left on that scale.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

FIELD = 28  # side of the picture that the model reads
BOX = 20  # the digit's longer side within it
PEN = 2.4  # width of the pen on that scale

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Step:
    name: str
    image: np.ndarray  # uint8, white ink on black


@dataclass(frozen=True)
class Ink:
    image: np.ndarray  # (28, 28) uint8, white ink on black
    steps: tuple[Step, ...]


def from_canvas(rgba: np.ndarray) -> Ink | None:
    """The digit on a canvas: whatever differs from the background. None if nothing does."""
    grey = _ink_of(np.asarray(rgba, dtype=np.uint8))
    rows, columns = np.flatnonzero((grey > 64).any(1)), np.flatnonzero((grey > 64).any(0))
    if not len(rows):
        return None
    crop = grey[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = (max(1, round(n * BOX / max(crop.shape))) for n in crop.shape)
    fitted = np.asarray(Image.fromarray(crop).resize((width, height), Image.Resampling.BOX))
    centred = _centred(fitted)
    pictures = {"found": grey, "cropped": crop, "fitted": fitted, "centred": centred}
    return Ink(centred, tuple(Step(name, picture) for name, picture in pictures.items()))


def draw_strokes(strokes: Iterable[Points], side: int = 500, brush: float | None = None) -> np.ndarray:
    """The RGBA canvas on which these strokes were drawn: white, round-tipped, on black."""
    fine = 3
    radius = fine * (brush or side * 0.05) / 2
    canvas = Image.new("L", (side * fine, side * fine))
    pen = ImageDraw.Draw(canvas)
    for stroke in strokes:
        points = [(x * fine, y * fine) for x, y in stroke]
        pen.line(points, fill=255, width=round(2 * radius))
        for x, y in points:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    grey = np.asarray(canvas.reduce(fine))
    return np.dstack([grey, grey, grey, np.full_like(grey, 255)])


def _ink_of(rgba: np.ndarray) -> np.ndarray:
    """How far each pixel is from the background, as grey; a transparent pixel is background."""
    colour = rgba[..., :3].astype(np.int16)
    alpha = rgba[..., 3]
    if alpha.min(initial=255) < 255:
        return alpha
    background = colour[0, 0]
    return np.abs(colour - background).max(-1).astype(np.uint8)


def _centred(fitted: np.ndarray) -> np.ndarray:
    total = fitted.sum(dtype=float)
    row = (fitted.sum(1) @ np.arange(fitted.shape[0])) / total
    column = (fitted.sum(0) @ np.arange(fitted.shape[1])) / total
    top, left = (round((FIELD - 1) / 2 - centre) for centre in (row, column))
    top, left = (min(max(0, p), FIELD - n) for p, n in zip((top, left), fitted.shape, strict=True))
    field = np.zeros((FIELD, FIELD), np.uint8)
    field[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
    return field
