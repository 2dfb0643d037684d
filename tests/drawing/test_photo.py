import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image, ImageFile

from tests.drawing.test_ink import SEVEN, difference
from vit.drawing import files, ink

EXPECTED = ink.from_strokes(SEVEN, 400).image
ALIKE = 0.25


def drawn(brush: float = 12, width: int = 400, height: int = 400) -> np.ndarray:
    """How much ink of the seven covers each pixel, from 0 to 1, in the middle of a sheet."""
    sheet = np.zeros((height, width))
    y, x = (height - 400) // 2, (width - 400) // 2
    sheet[y : y + 400, x : x + 400] = ink.draw_strokes(SEVEN, 400, brush)[..., 0] / 255
    return sheet


def photographed(weight: np.ndarray, light=0.9, ink_light=0.2, noise=0.01) -> np.ndarray:
    """Dark ink on paper under some light, as grey."""
    grain = np.random.default_rng(0).normal(0, noise, weight.shape)
    return np.uint8(np.clip(light * (1 - weight) + light * ink_light * weight + grain, 0, 1) * 255)


def saved(picture: Image.Image | np.ndarray, kind: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    (Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture).save(file, kind, **options)
    return file.getvalue()


def assert_reads_seven(file) -> None:
    found = ink.from_photo(file)
    assert found is not None
    assert difference(found.image, EXPECTED) < ALIKE


def test_dark_ink_on_light_paper_is_read():
    assert_reads_seven(saved(photographed(drawn())))


def test_chalk_on_a_blackboard_is_read():
    assert_reads_seven(saved(255 - photographed(drawn())))


def test_a_path_an_open_file_and_bytes_are_read(tmp_path):
    path = tmp_path / "seven.png"
    path.write_bytes(saved(photographed(drawn())))
    assert_reads_seven(path)
    assert_reads_seven(str(path))
    assert_reads_seven(path.read_bytes())
    with path.open("rb") as file:
        assert_reads_seven(file)


@pytest.mark.parametrize("brush", [3, 12, 30])
def test_a_fine_pen_and_a_thick_one_are_read(brush):
    assert_reads_seven(saved(photographed(drawn(brush))))


def test_a_shadow_over_the_paper_is_not_ink():
    x = np.linspace(0, 1, 400)
    soft = 0.9 - 0.5 * x[None, :] * np.ones((400, 1))
    hard = np.where(x[:, None] + x[None, :] > 0.9, 0.5, 0.9)
    for light in (soft, hard):
        assert_reads_seven(saved(photographed(drawn(), light)))


def test_lines_on_the_paper_are_not_ink():
    for step in ((slice(None, None, 40), slice(None)), (slice(None), slice(None, None, 40))):
        light = np.full((400, 400), 0.9)
        light[step] = 0.6
        assert_reads_seven(saved(photographed(drawn(), light)))


def test_specks_and_other_writing_are_not_the_digit():
    weight = drawn(width=700, height=700)
    random = np.random.default_rng(1)
    for x, y in random.integers(20, 680, (30, 2)):
        weight[y : y + 3, x : x + 3] = 1
    weight[30:60, 640:660] = 1
    assert_reads_seven(saved(photographed(weight)))


def test_a_table_around_the_paper_is_not_ink():
    for table in (30, 255):
        picture = photographed(drawn(width=600, height=600), light=0.7)
        picture[:25] = picture[-30:] = table
        picture[:, :35] = picture[:, -20:] = table
        assert_reads_seven(saved(picture))


def test_a_digit_that_reaches_the_edge_is_read():
    picture = photographed(drawn())[80:290, 90:250]
    found = ink.from_photo(saved(picture))
    assert np.count_nonzero(found.image) > 50


def test_paper_without_ink_holds_no_digit():
    blank = np.zeros((400, 500))
    shade = 0.9 - 0.4 * np.linspace(0, 1, 500)[None, :] * np.ones((400, 1))
    for light in (0.9, 0.3, shade):
        assert ink.from_photo(saved(photographed(blank, light, noise=0.02))) is None
    for level in (0, 127, 255):
        assert ink.from_photo(saved(np.full((50, 50), level, np.uint8))) is None


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "I", "F", "CMYK", "YCbCr", "LAB"])
def test_pictures_of_all_kinds_are_read(mode):
    grey = photographed(drawn(), noise=0)
    if mode == "I;16":
        picture = Image.fromarray(grey.astype(np.uint16) * 257)
    elif mode in "IF":
        picture = Image.fromarray(grey.astype({"I": np.int32, "F": np.float32}[mode]) * 100)
    elif mode == "LAB":
        neutral = Image.new("L", (400, 400), 128)
        picture = Image.merge("LAB", (Image.fromarray(grey), neutral, neutral))
    else:
        picture = Image.fromarray(grey).convert("RGB").convert(mode)
    assert picture.mode == mode
    assert_reads_seven(saved(picture, "TIFF"))


@pytest.mark.parametrize("kind", sorted(set(files.FORMATS) - {"AVIF"}))
def test_files_of_all_kinds_are_read(kind):
    assert_reads_seven(saved(Image.fromarray(photographed(drawn())).convert("RGB"), kind))


@pytest.mark.parametrize("pen", [0, 255])
def test_ink_on_nothing_is_read_from_its_opacity(pen):
    alpha = np.uint8(drawn() * 255)
    layers = np.dstack([np.full((400, 400, 3), pen, np.uint8), alpha])
    assert_reads_seven(saved(layers))


def test_a_palette_with_a_transparent_colour_is_read():
    picture = Image.fromarray(np.uint8(drawn() > 0.5), "P")
    picture.putpalette([0, 0, 0, 10, 10, 60])
    assert_reads_seven(saved(picture, transparency=0))


def test_see_through_corners_are_not_ink():
    layers = np.dstack([photographed(drawn())] * 3 + [np.full((400, 400), 255, np.uint8)])
    layers[:40, :40, 3] = 0
    assert_reads_seven(saved(layers))


def test_of_an_animation_the_first_picture_is_read():
    frames = [Image.fromarray(photographed(drawn() if first else np.zeros((400, 400)))) for first in (True, False)]
    assert_reads_seven(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))


@pytest.mark.parametrize(
    ("orientation", "turn"),
    [(3, Image.Transpose.ROTATE_180), (6, Image.Transpose.ROTATE_90), (8, Image.Transpose.ROTATE_270)],
)
def test_a_camera_that_was_held_sideways_is_heeded(orientation, turn):
    exif = Image.Exif()
    exif[0x0112] = orientation
    sideways = Image.fromarray(photographed(drawn(width=500))).transpose(turn)
    assert_reads_seven(saved(sideways, "JPEG", exif=exif))
    assert_reads_seven(saved(sideways, "PNG", exif=exif))


def test_a_large_photo_is_read():
    small = Image.fromarray(photographed(drawn(width=533)))
    assert_reads_seven(saved(small.resize((4000, 3000)), "JPEG"))


def test_a_damaged_file_is_refused_in_words():
    whole = saved(photographed(drawn()), "PNG")
    jpeg = saved(photographed(drawn()), "JPEG")
    vector = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n"
    for broken in (b"", b"a 7, but written", whole[:100], whole[: len(whole) // 2], jpeg[: len(jpeg) // 2], vector):
        with pytest.raises(ink.UnreadablePicture, match="cannot be read as a picture"):
            ink.from_photo(broken)


def png_of_zeros(width: int, height: int) -> bytes:
    """Black, one bit for each pixel, and small as a file."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer, left, rows = zlib.compressobj(), (1 + (width + 7) // 8) * height, []
    while left > 0:
        rows.append(packer.compress(bytes(min(left, 1 << 20))))
        left -= 1 << 20
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"".join(rows) + packer.flush()) + chunk(
        b"IEND", b"")


def tiff_cut_from_a_tile(side: int, tile: int) -> bytes:
    """A grey picture of one tile that is larger than the picture itself."""
    packed = zlib.compress(bytes(tile * tile))
    values = {256: side, 257: side, 258: 8, 259: 8, 262: 1, 277: 1, 322: tile, 323: tile, 324: 134, 325: len(packed)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in values.items())
    return b"II*\0" + struct.pack("<IH", 8, len(values)) + entries + bytes(4) + packed


@pytest.mark.parametrize(
    "make",
    [
        lambda: png_of_zeros(1, 80_000_000),
        lambda: png_of_zeros(80_000_000, 1),
        lambda: png_of_zeros(9_000, 9_000),
        lambda: saved(Image.new("1", (5_000, 5_000)), "TIFF", compression="group4"),
        lambda: saved(Image.new("P", (5_000, 5_000)), "GIF"),
        lambda: tiff_cut_from_a_tile(64, 5_000),
    ],
    ids=["a column", "a row", "a square", "TIFF", "GIF", "a tile"],
)
def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_is_decoded(make, monkeypatch):
    file = make()
    assert len(file) < 200_000
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda picture: pytest.fail("It was decoded."))
    with pytest.raises(ink.UnreadablePicture, match="too many pixels"):
        ink.from_photo(file)


def test_a_picture_cut_from_a_tile_of_reasonable_size_is_read():
    assert ink.from_photo(tiff_cut_from_a_tile(64, 128)) is None


def test_a_jpeg_may_have_more_pixels_since_it_need_not_be_decoded_in_full():
    small = Image.fromarray(photographed(drawn(width=533)))
    large = saved(small.resize((6000, 4500)), "JPEG")
    assert files.MOST_DECODED < 6000 * 4500
    assert_reads_seven(large)


def test_a_picture_of_too_many_pixels_is_refused_in_words(monkeypatch):
    picture = saved(photographed(drawn()))
    for module, limit in ((files, "MOST_PIXELS"), (files, "MOST_DECODED"), (Image, "MAX_IMAGE_PIXELS")):
        with monkeypatch.context() as patched:
            patched.setattr(module, limit, 1000)
            with pytest.raises(ink.UnreadablePicture, match="too many pixels"):
                ink.from_photo(picture)


def test_pillows_limit_stays_on():
    assert Image.MAX_IMAGE_PIXELS < 100_000_000


@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 50), st.integers(1, 50))))
@settings(deadline=None, max_examples=40)
def test_any_picture_has_an_answer(grey):
    found = ink.from_photo(saved(grey))
    assert found is None or found.image.shape == (28, 28)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2000), (2000, 1), (3, 900)])
def test_pictures_of_odd_shapes_have_an_answer(shape):
    grey = np.random.default_rng(2).integers(0, 256, shape, dtype=np.uint8)
    found = ink.from_photo(saved(grey))
    assert found is None or found.image.shape == (28, 28)
