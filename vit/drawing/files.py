"""Picture files that visitors choose: opened with care, whatever they claim to be."""

import io
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageOps

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
ENDINGS = ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tiff")  # what a visitor's dialog offers
MOST_PIXELS = 50_000_000  # of a JPEG, which can be decoded at a part of its size
MOST_DECODED = 16_000_000  # of what must be decoded in full, at up to 16 bytes each
LONGEST = 16_384  # side of a picture: each row costs memory, too

TILE_WIDTH, TILE_LENGTH = 322, 323  # TIFF's tags
TOO_LARGE = "This picture has too many pixels. Please choose a smaller one."
_one_at_a_time = Lock()  # what one picture may take while it is decoded, many visitors may not take at once

File = str | Path | bytes | BinaryIO
Made = TypeVar("Made")


class UnreadablePicture(ValueError):
    """A file that cannot be used; its text is a sentence for the person who chose it."""


def read(file: File, mode: str, side: int, make: Callable[[Image.Image], Made]) -> Made:
    """What is made of the picture in a file, turned as its camera was held. A JPEG may be decoded smaller, but not
    below `side`."""
    try:
        with (
            _one_at_a_time,
            Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=FORMATS) as picture,
        ):
            _refuse_more_than(MOST_PIXELS, picture)
            picture.draft(mode, (side, side))  # a large JPEG need not be decoded in full; then its size is smaller now
            _refuse_more_than(MOST_DECODED, picture)
            return make(ImageOps.exif_transpose(picture))
    except UnreadablePicture:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnreadablePicture(TOO_LARGE) from None
    except Exception as problem:  # on a broken file a decoder may raise anything
        raise UnreadablePicture(
            "This file cannot be read as a picture. It may be damaged; PNG and JPEG files work."
        ) from problem


def in_8_bits(picture: Image.Image) -> Image.Image:
    """Of 16 or 32 bits for each pixel, the darkest becomes black and the lightest white."""
    if not picture.mode.startswith(("I", "F")):
        return picture
    values = np.nan_to_num(np.asarray(picture, np.float32), posinf=0, neginf=0)
    return Image.fromarray(((values - values.min()) * (255 / max(float(np.ptp(values)), 1e-9))).astype(np.uint8))


def _refuse_more_than(most_pixels: int, picture: Image.Image) -> None:
    """A small file may claim to be huge, and decoding it would fill the memory; so look before decoding."""
    tags = getattr(picture, "tag_v2", {})  # of a TIFF; its tiles may be larger than the picture that is cut from them
    tile = tags.get(TILE_WIDTH, 0), tags.get(TILE_LENGTH, 0)
    for width, height in (picture.size, tile):
        if width * height > most_pixels or max(width, height) > LONGEST:
            raise UnreadablePicture(TOO_LARGE)
