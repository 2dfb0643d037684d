"""What a visitor shows to a model, however it came, as a short code that fits into a link.

The code is the drawing: what a link restores is exactly what was shared, number for number.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from vit import data
from vit.config import ViTConfig
from vit.drawing.colour import (
    MOST_BYTES,
    SAMPLES,
    BadDrawing,
    Crop,
    cut_out,
    in_the_middle,
    packed,
    sample,
    scaled,
    unpacked,
)
from vit.drawing.ink import FIELD, Ink
from vit.drawing.ink import from_strokes as ink_of_strokes
from vit.drawing.strokes import SIDE, Points, simplified, visible

MOST_POINTS = 600
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

PixelStroke = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Drawing:
    """`p…` pen strokes, `s…` a digit of MNIST's test set, `i…` a 28x28 picture; in colour `c…` a small picture, `f…` a
    part of one of our photos."""

    code: str

    @property
    def kind(self) -> str:
        return {"p": "strokes", "s": "sample", "i": "picture", "c": "photo", "f": "photo"}[self.code[0]]

    @property
    def strokes(self) -> tuple[PixelStroke, ...]:
        return _read_strokes(self.code[1:]) if self.kind == "strokes" else ()

    def without_last_stroke(self) -> "Drawing | None":
        rest, _, _ = self.code.rpartition(".")
        return Drawing(rest) if rest else None

    @property
    def sample(self) -> int | None:
        return int(self.code[1:]) if self.kind == "sample" else None

    @property
    def label(self) -> int | None:
        """The true digit, where it is known."""
        return None if self.sample is None else int(data.load("mnist", "test")[1][self.sample])

    @property
    def part_of(self) -> tuple[str, Crop] | None:
        """One of our photos by its name, and which part of it."""
        return _read_part(self.code[1:]) if self.code[0] == "f" else None

    def ink(self) -> Ink | None:
        """How pen strokes became a picture; None for a picture that came whole, and for strokes without ink."""
        return ink_of_strokes(self.strokes, SIDE) if self.strokes else None

    def image(self) -> np.ndarray | None:
        """The 28x28 that a model reads; None if there is nothing to see on it. A photo: a square in colour."""
        if self.part_of:
            name, crop = self.part_of
            return cut_out(sample(name), crop)
        if self.kind == "photo":
            return unpacked(self.code[1:])
        if self.kind == "strokes":
            found = self.ink()
            return found.image if found else None
        image = data.load("mnist", "test")[0][self.sample] if self.kind == "sample" else _unpack(self.code[1:])
        return image if image.any() else None


def from_strokes(strokes: Iterable[Points]) -> Drawing | None:
    """Pen strokes in canvas pixels, as far as they lie on it; None if nothing does."""
    kept = simplified(list(visible(strokes, SIDE)), MOST_POINTS)
    return Drawing("p" + ".".join("".join(map(_write_point, stroke)) for stroke in kept)) if kept else None


def from_sample(index: int) -> Drawing:
    return Drawing(f"s{index}")


def from_picture(image: np.ndarray) -> Drawing:
    packed = zlib.compress(image.astype(np.uint8).tobytes(), 9)
    return Drawing("i" + base64.urlsafe_b64encode(packed).decode().rstrip("="))


def from_photo(picture: np.ndarray) -> Drawing:
    """A square picture in colour. What a model gets is what comes out of the code, not what went in."""
    return Drawing("c" + packed(picture))


def from_sample_photo(name: str, crop: Crop | None = None) -> Drawing:
    crop = crop or in_the_middle(sample(name))
    return Drawing(f"f{name}.{crop.left}.{crop.top}.{crop.side}")


def from_code(code: str) -> Drawing:
    """The drawing that a link carries, refused unless it is whole and of reasonable size."""
    if re.fullmatch(r"s\d{1,4}", code):
        return Drawing(code)
    if code.startswith("p") and len(code) <= 4 * MOST_POINTS:
        drawing = Drawing(code)
        _read_strokes(code[1:])
        return drawing
    if code.startswith("i") and len(code) <= 2000:
        if not _unpack(code[1:]).any():
            raise BadDrawing("The picture in this link is blank.")
        return Drawing(code)
    if code.startswith("f") and len(code) <= 40:
        _read_part(code[1:])
        return Drawing(code)
    if code.startswith("c") and len(code) <= 2 * MOST_BYTES:
        unpacked(code[1:])
        return Drawing(code)
    raise BadDrawing("This link does not hold a drawing.")


def _write_point(point: np.ndarray) -> str:
    x, y = point.round().astype(int)
    number = x * 512 + y
    return DIGITS[number >> 12] + DIGITS[number >> 6 & 63] + DIGITS[number & 63]


def _read_strokes(text: str) -> tuple[PixelStroke, ...]:
    if not re.fullmatch(r"[\w-]{3,}(\.[\w-]{3,})*", text, re.ASCII) or any(
        len(part) % 3 for part in text.split(".")
    ):
        raise BadDrawing("The pen strokes in this link are damaged.")
    strokes = []
    for part in text.split("."):
        numbers = [DIGITS.index(letter) for letter in part]
        points = [a << 12 | b << 6 | c for a, b, c in zip(*[iter(numbers)] * 3, strict=True)]
        strokes.append(tuple((point // 512, point % 512) for point in points))
    return tuple(strokes)


def _read_part(text: str) -> tuple[str, Crop]:
    found = re.fullmatch(r"([a-z]+)\.(\d{1,4})\.(\d{1,4})\.(\d{1,4})", text, re.ASCII)
    if not found or found[1] not in SAMPLES:
        raise BadDrawing("This link asks for a photo that is not here.")
    crop = Crop(*map(int, found.groups()[1:]))
    if crop.side < 1 or crop != crop.inside(sample(found[1])):
        raise BadDrawing("This link asks for a part of a photo that lies outside it.")
    return found[1], crop


def _unpack(text: str) -> np.ndarray:
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpack = zlib.decompressobj()
        pixels = unpack.decompress(packed, FIELD**2 + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadDrawing("The picture in this link is damaged.") from error
    if len(pixels) != FIELD**2:
        raise BadDrawing("The picture in this link is not 28 x 28 pixels.")
    return np.frombuffer(pixels, np.uint8).reshape(FIELD, FIELD)


def for_model(image: np.ndarray, config: ViTConfig, interpolation: str = "bilinear") -> np.ndarray:
    """A square picture in the size and the number of channels that a model reads."""
    if image.ndim == 3 and config.channels == 1:
        image = np.asarray(Image.fromarray(np.ascontiguousarray(image)).convert("L"))
    image = scaled(image, config.image_size, interpolation)
    return np.repeat(image[..., None], config.channels, axis=2) if image.ndim == 2 and config.channels > 1 else image
