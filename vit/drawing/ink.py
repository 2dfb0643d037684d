"""From a drawing or a photographed digit to the 28x28 picture that the makers of MNIST would have made.

They cropped a scanned digit to its ink, scaled its longer side to 20 pixels with grey edges, and moved its
centre of mass to the middle of 28x28 pixels. The width of a brush on a screen says nothing about the digit,
so one thing is added: strokes are made about as thick as MNIST's are on that scale.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageDraw

from vit.drawing.files import UnreadablePicture
from vit.drawing.photo import Box, box_of, find_ink, shrunk
from vit.drawing.strokes import BRUSH_SHARE, SIDE, Points, visible

__all__ = ["FIELD", "Ink", "Step", "UnreadablePicture", "draw_strokes", "from_canvas", "from_photo", "from_strokes"]

FIELD = 28  # side of the picture that the model reads
BOX = 20  # the digit's longer side in it
MIDDLE = 14  # row and column of the centre of mass, to the nearest pixel, in each of MNIST's pictures
PEN = 2.4  # MNIST's median stroke width at that size
PENS = (2.0, 3.0)  # widths that are left alone: the middle half of MNIST's
VISIBLE = 16  # a smaller difference to the background, of 255, is not seen
FINE = 4  # stroke width is judged and changed on a picture so many times as large as the box
MARGIN = 16  # around that picture: room for strokes to grow



@dataclass(frozen=True, eq=False)
class Step:
    name: str
    image: np.ndarray  # uint8, white ink on black


@dataclass(frozen=True, eq=False)
class Ink:
    image: np.ndarray  # (28, 28) uint8, white ink on black
    steps: tuple[Step, ...]  # found, cropped, fitted, centred
    box: Box  # left, top, right, bottom of the ink where it was found
    scale: float  # from found to fitted
    centre_of_mass: tuple[float, float]  # x, y in the fitted picture
    shift: tuple[int, int]  # x, y from the fitted to the centred picture


def from_canvas(rgba: np.ndarray) -> Ink | None:
    """The digit on a canvas: whatever differs from the background. None if nothing does."""
    rgba = np.asarray(rgba)
    if rgba.dtype != np.uint8 or rgba.ndim != 3 or rgba.shape[2] != 4:
        raise ValueError(f"A canvas is uint8 of shape (H, W, 4), not {rgba.dtype} of shape {rgba.shape}.")
    return _from_ink(_unlike_background(rgba)) if rgba.size else None


def from_strokes(strokes: Iterable[Points], side: float) -> Ink | None:
    """The digit that these strokes draw on a square canvas of this side. None if no point lies on it."""
    parts = list(visible(strokes, side))
    if not parts:
        return None
    points = np.concatenate(parts)
    corner, extent = points.min(0), np.ptp(points, axis=0)

    def fit(longer: int) -> np.ndarray:
        scale = (longer - PEN) / max(extent.max(), BRUSH_SHARE * side / 2)  # what is smaller than the brush is a dot
        size = np.ceil(extent * scale + PEN - 1e-6).astype(int)
        width, height = size
        margin = (size - extent * scale) / 2
        return _drawn([(stroke - corner) * scale + margin for stroke in parts], width, height, PEN, fine=8)

    found = _drawn([stroke * SIDE / side for stroke in parts], SIDE, SIDE, BRUSH_SHARE * SIDE, fine=2)
    return _finished(found, fit)


def from_photo(file: str | Path | bytes | BinaryIO) -> Ink | None:
    """The digit on a picture of ink on paper, or of chalk on a board. None if nothing stands out."""
    return _from_ink(find_ink(file))


def draw_strokes(strokes: Iterable[Points], side: int, brush: float | None = None) -> np.ndarray:
    """The RGBA canvas on which these strokes were drawn: white and round-tipped, on black."""
    arrays = [np.array(stroke, float) for stroke in strokes if len(stroke)]
    grey = _drawn(arrays, side, side, brush or side * BRUSH_SHARE, fine=3)
    return np.dstack([grey, grey, grey, np.full_like(grey, 255)])


def _drawn(strokes: list[np.ndarray], width: int, height: int, brush: float, fine: int) -> np.ndarray:
    """Strokes of a round brush, drawn `fine` times as large and reduced, for grey edges."""
    picture = Image.new("L", (int(width) * fine, int(height) * fine))
    pen, radius = ImageDraw.Draw(picture), brush * fine / 2
    for stroke in strokes:
        points = [tuple(point) for point in (stroke * fine).tolist()]
        pen.line(points, fill=255, width=round(2 * radius))
        for point in points:
            pen.circle(point, radius, fill=255)
    return np.asarray(picture.reduce(fine))


def _unlike_background(rgba: np.ndarray) -> np.ndarray:
    """How much each pixel differs from what surrounds the drawing, stretched to 0..255."""
    channels = [np.ascontiguousarray(rgba[..., i]) for i in range(4)]
    if channels[3].min() < 255:  # the colour of a transparent pixel means nothing
        alpha = channels[3].astype(np.uint16)
        channels[:3] = [(colour * alpha // 255).astype(np.uint8) for colour in channels[:3]]
    ink = np.zeros(rgba.shape[:2], np.uint8)
    for channel in channels:
        rim = np.concatenate([channel[0], channel[-1], channel[:, 0], channel[:, -1]])
        background = np.uint8(np.median(rim))
        np.maximum(ink, np.maximum(channel, background) - np.minimum(channel, background), out=ink)
    strongest = ink.max()
    return (ink * np.float32(255 / strongest)).astype(np.uint8) if strongest >= VISIBLE else np.zeros_like(ink)


def _from_ink(found: np.ndarray) -> Ink | None:
    """The rest of the way, from a picture in which ink is light and all else is dark."""
    if not (found > 127).any():
        return None
    left, top, right, bottom = box_of(found > 127)
    picture = Image.fromarray(_reweighed(found[top:bottom, left:right]))
    left, top, right, bottom = box_of(np.asarray(picture) > 127)

    def fit(longer: int) -> np.ndarray:
        scale = longer / max(right - left, bottom - top)
        width, height = (math.ceil(n * scale - 1e-6) for n in (right - left, bottom - top))
        x, y = ((low + high - n / scale) / 2 for low, high, n in ((left, right, width), (top, bottom, height)))
        around = (x, y, x + width / scale, y + height / scale)
        return np.asarray(picture.resize((width, height), Image.Resampling.BOX, box=around))

    return _finished(found, fit)


def _reweighed(crop: np.ndarray) -> np.ndarray:
    """The ink, four times as large as it is to be, with strokes as thick as MNIST's and a margin."""
    longer = max(crop.shape)
    width, height = (max(1, round(n * BOX * FINE / longer)) for n in crop.shape[::-1])
    ink = _resized(crop > 127, width, height)
    depth = _depth(np.pad(ink, MARGIN))
    inside = depth[depth > 0]
    thickness = min(4 * inside.mean(), 2 * inside.max())  # across a straight stroke, the mean depth is a quarter
    wanted = min(max(thickness / FINE, PENS[0]), PENS[1])
    spine = max(width, height) - thickness  # the digit's length without the pen's width
    grow = (wanted * spine / (BOX - wanted) - thickness) / 2
    return (np.clip(depth + grow + 0.5, 0, 1) * 255).astype(np.uint8)


def _resized(ink: np.ndarray, width: int, height: int) -> np.ndarray:
    edges = np.count_nonzero(np.diff(ink, axis=0)) + np.count_nonzero(np.diff(ink, axis=1))
    thickness = 2 * ink.sum() / max(edges, 1)
    would_fade = thickness * width < 2 * ink.shape[1]
    if would_fade and width < ink.shape[1] and height < ink.shape[0]:
        return shrunk(ink, (height, width))
    grey = Image.fromarray(ink.astype(np.uint8) * 255)
    return np.asarray(grey.resize((width, height), Image.Resampling.BILINEAR)) > 127


def _depth(ink: np.ndarray) -> np.ndarray:
    """Distance of each pixel to the edge of the ink: positive inside, negative outside."""
    from scipy.ndimage import distance_transform_edt  # strokes do not need it, and it takes long to import

    inside, outside = (distance_transform_edt(area).astype(np.float32) for area in (ink, ~ink))
    return np.where(ink, inside - 0.5, 0.5 - outside)


def _finished(found: np.ndarray, fit: Callable[[int], np.ndarray]) -> Ink:
    for longer in range(BOX, FIELD // 2 - 1, -1):
        fitted = fit(longer)
        centre = _centre_of_mass(fitted)
        x, y = (math.ceil(MIDDLE - 0.5 - c) for c in centre)
        height, width = fitted.shape
        # a drawing whose mass lies far to one side is made smaller until all of it has room
        if 0 <= x <= FIELD - width and 0 <= y <= FIELD - height:
            break
    centred = np.zeros((FIELD, FIELD), np.uint8)
    centred[y : y + height, x : x + width] = fitted
    left, top, right, bottom = box = box_of(found > 127)
    cropped = found[top:bottom, left:right]
    steps = {"found": found, "cropped": cropped, "fitted": fitted, "centred": centred}
    for picture in steps.values():
        picture.flags.writeable = False
    return Ink(
        image=centred,
        steps=tuple(Step(name, picture) for name, picture in steps.items()),
        box=box,
        scale=max(fitted.shape) / max(cropped.shape),
        centre_of_mass=centre,
        shift=(x, y),
    )


def _centre_of_mass(picture: np.ndarray) -> tuple[float, float]:
    mass = picture.sum(dtype=np.int64)
    height, width = picture.shape
    x = picture.sum(0, dtype=np.int64) @ np.arange(width) / mass
    y = picture.sum(1, dtype=np.int64) @ np.arange(height) / mass
    return float(x), float(y)
