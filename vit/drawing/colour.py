"""A visitor's photo: the square of it that a model gets, and the same as a code that fits into a link."""

import base64
import binascii
import io
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from vit.drawing.files import File, in_8_bits, read

FOLDER = Path(__file__).parents[2] / "assets" / "photos"
SAMPLES = {"cat": "a cat", "horse": "a horse", "rocket": "a rocket", "coffee": "a cup of coffee",
           "astronaut": "an astronaut"}
LONGEST_SIDE = 640  # a larger photo is reduced to this
SMALLEST_CROP = 16  # pixels of the photo
LARGEST_PICTURE = 512  # side of a picture in a link
MOST_BYTES = 4_500  # of a picture in a link: 6,000 letters, which every browser and most servers take
QUALITIES = (90, 80, 70, 60, 50, 40, 30, 20, 10, 0)  # of what does not fit without loss
FILTERS = {"nearest": Image.Resampling.NEAREST, "box": Image.Resampling.BOX, "bilinear": Image.Resampling.BILINEAR,
           "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}


class BadDrawing(ValueError):
    """Says in one sentence why a code is not a drawing or a picture."""


def read_photo(file: File) -> np.ndarray:
    """A file as (H, W, 3), turned upright and reduced."""
    return read(file, "RGB", 2 * LONGEST_SIDE, _rgb)


def _rgb(picture: Image.Image) -> np.ndarray:
    picture = in_8_bits(picture)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    picture = picture.convert("RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BICUBIC)
    return np.asarray(picture)


@lru_cache
def sample(name: str) -> np.ndarray:
    return read_photo(FOLDER / f"{name}.jpg")


@dataclass(frozen=True)
class Crop:
    """A square of a photo, in its pixels."""

    left: int
    top: int
    side: int

    def inside(self, photo: np.ndarray) -> "Crop":
        """The same, moved and made smaller as far as it must be to lie on the photo."""
        height, width = photo.shape[:2]
        side = max(min(self.side, height, width), 1)
        return Crop(min(max(self.left, 0), width - side), min(max(self.top, 0), height - side), side)

    def about(self, x: int, y: int, side: int | None = None) -> "Crop":
        """With its middle here."""
        side = self.side if side is None else side
        return Crop(x - side // 2, y - side // 2, side)

    @property
    def middle(self) -> tuple[int, int]:
        return self.left + self.side // 2, self.top + self.side // 2


def in_the_middle(photo: np.ndarray, share: float = 1) -> Crop:
    """A square as wide as this share of the photo's shorter side."""
    height, width = photo.shape[:2]
    side = max(round(share * min(height, width)), 1)
    return Crop((width - side) // 2, (height - side) // 2, side)


def cut_out(photo: np.ndarray, crop: Crop) -> np.ndarray:
    return photo[crop.top : crop.top + crop.side, crop.left : crop.left + crop.side]


def scaled(picture: np.ndarray, side: int, interpolation: str = "bicubic") -> np.ndarray:
    """A square picture in another size; one that has it already is left as it is."""
    if picture.shape[:2] == (side, side):
        return picture
    kind = FILTERS.get(interpolation, Image.Resampling.BICUBIC)
    return np.asarray(Image.fromarray(np.ascontiguousarray(picture)).resize((side, side), kind))


# As a code


def packed(picture: np.ndarray) -> str:
    """A square picture as text. Without loss if it fits, as 32 x 32 pixels do; else as good as fits."""
    side, image = len(picture), Image.fromarray(np.ascontiguousarray(picture))
    attempts = [{"lossless": True, "quality": 100}, *({"quality": quality} for quality in QUALITIES)]
    for options in attempts:
        file = io.BytesIO()
        image.save(file, "WEBP", method=4, exact=True, **options)
        if file.tell() <= MOST_BYTES:
            return base64.urlsafe_b64encode(file.getvalue()).decode().rstrip("=")
    return packed(scaled(picture, side // 2))


def unpacked(text: str) -> np.ndarray:
    """The pixels of such a text, which may come from anybody."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadDrawing("The picture in this link is damaged.") from error
    width, height = _declared_size(content)
    if width != height or not 0 < width <= LARGEST_PICTURE or len(content) > MOST_BYTES:
        raise BadDrawing(f"The picture in this link is not a square of at most {LARGEST_PICTURE} pixels a side.")
    try:
        with Image.open(io.BytesIO(content), formats=("WEBP",)) as picture:
            return np.asarray(picture.convert("RGB"))
    except Exception as error:  # on a broken file a decoder may raise anything
        raise BadDrawing("The picture in this link is damaged.") from error


def _declared_size(webp: bytes) -> tuple[int, int]:
    """By the header alone: what opens such a file makes room for all that it claims to be."""
    kind = webp[12:16]
    if webp[:4] == b"RIFF" and webp[8:12] == b"WEBP" and len(webp) >= 30:
        if kind == b"VP8L":
            (bits,) = struct.unpack("<I", webp[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        if kind == b"VP8 ":
            width, height = struct.unpack("<HH", webp[26:30])
            return width & 0x3FFF, height & 0x3FFF
    raise BadDrawing("The picture in this link is damaged.")
