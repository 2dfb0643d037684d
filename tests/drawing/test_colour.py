import base64
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from vit import drawing
from vit.config import PRESETS
from vit.drawing import BadDrawing, Drawing, colour, files
from vit.drawing.colour import Crop

NOISE = np.random.default_rng(0)


def photographed(height=300, width=400) -> np.ndarray:
    """Red at the left, green at the bottom, blue everywhere a little."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([255 - 255 * columns // width, 255 * rows // height, np.full_like(rows, 60)], -1).astype(np.uint8)


def saved(picture: np.ndarray, kind: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, kind, **options)
    return file.getvalue()


def link_of(content: bytes) -> str:
    return "c" + base64.urlsafe_b64encode(content).decode().rstrip("=")


# Files


def test_a_photo_stands_as_its_camera_was_held():
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees
    upright = photographed()
    lying = np.rot90(upright)
    found = colour.read_photo(saved(lying, exif=turned))
    assert found.shape == upright.shape
    assert np.array_equal(found, upright)


def test_a_large_photo_is_reduced_and_keeps_its_shape():
    assert colour.read_photo(saved(photographed(1500, 2000), "JPEG")).shape == (480, 640, 3)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "I", "F"])
def test_a_photo_of_any_kind_of_pixels_has_three_colours(mode):
    kind = "TIFF" if mode in ("CMYK", "I", "F") else "PNG"
    file = io.BytesIO()
    picture = Image.fromarray(photographed(30, 40))
    (picture.convert("L").convert("I").convert(mode) if mode == "I;16" else picture.convert(mode)).save(file, kind)
    found = colour.read_photo(file.getvalue())
    assert found.shape == (30, 40, 3)
    assert found.dtype == np.uint8


def test_what_is_transparent_is_white():
    assert (colour.read_photo(saved(np.zeros((20, 20, 4), np.uint8))) == 255).all()


def bomb() -> bytes:
    """A PNG of 100,000 x 100,000 pixels in some hundred bytes."""
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_a_bomb_gets_a_sentence():
    with pytest.raises(files.UnreadablePicture, match="too many pixels"):
        colour.read_photo(bomb())


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4" + bytes(80), saved(photographed())[:200]])
def test_a_file_that_is_no_picture_gets_a_sentence(content):
    with pytest.raises(files.UnreadablePicture, match="cannot be read as a picture"):
        colour.read_photo(content)


# The square


@pytest.mark.parametrize("crop", [Crop(-50, -50, 100), Crop(390, 290, 100), Crop(0, 0, 9_999), Crop(7, 9, 0)])
def test_a_crop_always_lies_on_the_photo(crop):
    photo = photographed()
    cut = colour.cut_out(photo, crop.inside(photo))
    assert cut.shape[0] == cut.shape[1] == crop.inside(photo).side > 0


def test_a_crop_within_the_photo_stays_as_it_is():
    crop = Crop(10, 20, 100)
    assert crop.inside(photographed()) == crop
    assert np.array_equal(colour.cut_out(photographed(), crop), photographed()[20:120, 10:110])


def test_the_middle_is_as_far_from_left_and_right():
    assert colour.in_the_middle(photographed()) == Crop(50, 0, 300)
    assert colour.in_the_middle(photographed(), 0.5) == Crop(125, 75, 150)


# Codes


def test_a_picture_of_32_pixels_is_in_its_link_number_for_number():
    for picture in (NOISE.integers(0, 256, (32, 32, 3), np.uint8), colour.scaled(photographed(300, 300), 32)):
        restored = drawing.from_code(drawing.from_photo(picture).code)
        assert np.array_equal(restored.image(), picture)


@pytest.mark.parametrize("side", [224, 384])
def test_a_large_picture_fits_into_a_link_and_is_the_same_each_time(side):
    picture = colour.scaled(colour.sample("astronaut"), side)
    shown = drawing.from_photo(picture)
    assert len(shown.code) <= 6_001
    assert shown.image().shape == (side, side, 3)
    assert np.array_equal(drawing.from_code(shown.code).image(), shown.image())
    assert np.abs(shown.image().astype(int) - picture).mean() < 12  # of 255


def test_even_noise_fits_into_a_link():
    assert len(drawing.from_photo(NOISE.integers(0, 256, (384, 384, 3), np.uint8)).code) <= 6_001


def test_a_part_of_one_of_our_photos_is_a_short_code():
    shown = drawing.from_sample_photo("cat", Crop(5, 6, 100))
    assert shown.code == "fcat.5.6.100"
    assert np.array_equal(drawing.from_code(shown.code).image(), colour.sample("cat")[6:106, 5:105])


@pytest.mark.parametrize("name", colour.SAMPLES)
def test_our_photos_are_small_and_told_whence_they_come(name):
    assert (colour.FOLDER / f"{name}.jpg").stat().st_size < 30_000
    assert f"`{name}.jpg`" in (colour.FOLDER / "README.md").read_text()


LYING = bytearray(saved(np.zeros((32, 32, 3), np.uint8), "WEBP", lossless=True))
LYING[21:25] = struct.pack("<I", 16_382 | 16_382 << 14 | struct.unpack("<I", LYING[21:25])[0] & 0xF0000000)


@pytest.mark.parametrize("code", [
    "c", "cAAAA", "c!!!!", link_of(b"RIFF" + bytes(60)), link_of(saved(photographed(32, 32))),
    link_of(saved(photographed(32, 40), "WEBP", lossless=True)), link_of(bytes(LYING)),
    link_of(saved(photographed(32, 32), "WEBP", lossless=True)[:60]),
    link_of(saved(np.zeros((600, 600, 3), np.uint8), "WEBP")),
    "c" + "A" * 20_000, "fdog.0.0.10", "f../cat.0.0.10", "fcat.0.0.0", "fcat.300.0.200", "fcat.0.0", "fcat.-1.0.10",
])  # fmt: skip
def test_a_bad_code_gets_a_sentence(code):
    with pytest.raises(BadDrawing, match=r"\.$"):
        drawing.from_code(code)


# For a model


@pytest.mark.parametrize("preset", ["cifar", "base", "article"])
@pytest.mark.parametrize("code", ["s0", "fcat.0.0.213", drawing.from_photo(photographed(48, 48)).code])
def test_every_model_gets_every_picture_in_its_size_and_channels(preset, code):
    config = PRESETS[preset]
    seen = drawing.for_model(Drawing(code).image(), config)
    assert seen.shape[:2] == (config.image_size, config.image_size)
    assert seen[0, 0].size == config.channels
    assert seen.dtype == np.uint8


def test_a_picture_of_the_model_s_size_is_left_as_it_is():
    picture = NOISE.integers(0, 256, (32, 32, 3), np.uint8)
    assert np.array_equal(drawing.for_model(picture, PRESETS["cifar"], "bicubic"), picture)


def test_photos_are_scaled_as_the_makers_of_the_model_do():
    picture = NOISE.integers(0, 256, (300, 300, 3), np.uint8)
    for name, kind in (("bilinear", Image.Resampling.BILINEAR), ("bicubic", Image.Resampling.BICUBIC)):
        expected = np.asarray(Image.fromarray(picture).resize((224, 224), kind))
        assert np.array_equal(drawing.for_model(picture, PRESETS["base"], name), expected)
