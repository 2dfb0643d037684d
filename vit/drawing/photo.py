"""Where the ink of a digit is on a photographed or scanned piece of paper, or on a blackboard.

Light differs over a photo, so each place is compared with the paper around it. What is left is the digit,
specks, lines that were printed, and whatever lay around the paper: these are told apart by size and place.
"""

import math

import numpy as np
from PIL import Image, ImageFilter

from vit.drawing.files import File, in_8_bits, read

SIDE = 800  # a larger picture is reduced to this, which leaves enough of a digit that fills a tenth of it
FAINTEST = 38  # less contrast to the paper than this, of 255, is no ink
COARSE = 128  # pieces of ink are told apart on a picture of this side

Box = tuple[int, int, int, int]  # left, top, right, bottom


def find_ink(file: File) -> np.ndarray:
    """255 where the digit's ink is, 0 elsewhere."""
    smooth = read(file, "L", SIDE, _grey).filter(ImageFilter.GaussianBlur(1))
    light = np.asarray(smooth, np.float32)
    paper = _paper(smooth)
    dark_on_light = (paper - light) / np.maximum(paper, 50)
    light_on_dark = (light - paper) / np.maximum(255 - paper, 125)
    strengths = ((np.clip(strength, 0, 1) * 255).astype(np.uint8) for strength in (dark_on_light, light_on_dark))
    ink, _ = max(map(_digit, strengths), key=lambda digit: digit[1])
    return ink.astype(np.uint8) * 255


def box_of(ink: np.ndarray) -> Box:
    """The smallest box around the ink, of which there is some."""
    columns, rows = (np.flatnonzero(ink.any(axis)) for axis in (0, 1))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def shrunk(ink: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Ink wherever there was any, so that no line is too thin to survive."""
    rows, columns = (-(-np.arange(new) * old // new) for new, old in zip(shape, ink.shape, strict=True))
    return np.logical_or.reduceat(np.logical_or.reduceat(ink, rows, axis=0), columns, axis=1)


def _enlarged(ink: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    rows, columns = (np.arange(new) * old // new for new, old in zip(shape, ink.shape, strict=True))
    return ink[np.ix_(rows, columns)]


def _grey(picture: Image.Image) -> Image.Image:
    """The picture in 256 greys, reduced to SIDE, with transparent parts made to look like paper."""
    picture = in_8_bits(picture)
    if picture.mode == "LAB":
        picture = picture.getchannel("L")
    if not picture.has_transparency_data:
        grey = picture.convert("L")
        grey.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
        return grey
    picture = picture.convert("RGBA")
    picture.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
    grey, alpha = picture.convert("L"), picture.getchannel("A")
    visible = np.average(np.asarray(grey), weights=np.asarray(alpha) + 1e-9)
    ink_alone = np.asarray(alpha).mean() < 128
    paper = (255 if visible < 128 else 0) if ink_alone else round(visible)
    return Image.composite(grey, Image.new("L", grey.size, paper), alpha)


def _paper(picture: Image.Image) -> np.ndarray:
    """The light that the paper alone would show: the median over a third of the picture around each place."""
    window = 15
    width, height = (math.ceil(n * 3 * window / max(picture.size)) for n in picture.size)
    small = np.pad(np.asarray(picture.resize((width, height), Image.Resampling.BOX)), window, mode="symmetric")
    median = Image.fromarray(small).filter(ImageFilter.MedianFilter(window))
    inner = (window, window, window + width, window + height)
    return np.asarray(median.resize(picture.size, Image.Resampling.BILINEAR, box=inner), np.float32)


def _digit(strength: np.ndarray) -> tuple[np.ndarray, tuple[bool, float]]:
    """The digit's ink; and as its merit, whether it stands clear of the picture's edges, and how sharply."""
    from scipy import ndimage  # it takes long to import, and few visitors bring a photo

    touching = np.ones((3, 3))  # also at a corner
    everything = ink = strength > _threshold(strength)
    height, width = (math.ceil(n * COARSE / max(COARSE, *ink.shape)) for n in ink.shape)
    for _ in range(3):
        labels, _ = ndimage.label(shrunk(ink, (height, width)), touching)
        boxes: dict[int, Box] = {
            label: (columns.start, rows.start, columns.stop, rows.stop)
            for label, (rows, columns) in enumerate(ndimage.find_objects(labels), 1)
        }
        inner = {label: box for label, box in boxes.items() if _is_clear(box, width, height)}
        longest = max(inner.values(), key=_length, default=(0, 0, 0, 0))
        if len(inner) == len(boxes) or _length(longest) * 8 >= min(width, height):
            parts = [
                label
                for label, box in inner.items()
                if _length(box) * 8 > _length(longest) and _gap(box, longest) * 4 < _length(longest)
            ]
            digit = ink & _enlarged(np.isin(labels, parts), ink.shape)
            return digit, (True, _outline(strength, digit))
        # what reaches the edge is a table, a shadow or a line on the paper: look again without it
        outer = ndimage.binary_dilation(np.isin(labels, [label for label in boxes if label not in inner]), touching)
        strength = np.where(_enlarged(outer, ink.shape), 0, strength)
        ink = strength > _threshold(strength)
    return everything, (False, _outline(strength, everything))


def _outline(strength: np.ndarray, ink: np.ndarray) -> float:
    """All changes of strength over the ink: many along strokes, few over a shadow."""
    levels = strength.astype(np.int16)
    changes = np.abs(np.diff(levels, axis=0, prepend=0)) + np.abs(np.diff(levels, prepend=0))
    return float(changes[ink].sum())


def _threshold(strength: np.ndarray) -> float:
    """Half way between paper and ink; above everything if there is no ink."""
    counts, levels = np.bincount(strength.ravel(), minlength=256) + 1e-9, np.arange(256)
    threshold = int(strength.max()) // 2
    for _ in range(10):
        below, above = slice(threshold + 1), slice(threshold + 1, None)
        paper, ink = (np.average(levels[part], weights=counts[part]) for part in (below, above))
        threshold = int(paper + ink) // 2
    if ink < FAINTEST:
        return 255
    rim = math.ceil(max(strength.shape) / 50)
    edges = strength[:rim], strength[-rim:], strength[:, :rim], strength[:, -rim:]
    line = np.quantile(np.concatenate([edge.ravel() for edge in edges]), 0.99)
    # printed lines run off the paper, and are fainter than the ink
    return (line + ink) / 2 if threshold < line < 0.75 * ink else threshold


def _is_clear(box: Box, width: int, height: int) -> bool:
    return box[0] > 0 and box[1] > 0 and box[2] < width and box[3] < height


def _length(box: Box) -> int:
    return max(box[2] - box[0], box[3] - box[1])


def _gap(box: Box, other: Box) -> int:
    return max(box[0] - other[2], other[0] - box[2], box[1] - other[3], other[1] - box[3], 0)
