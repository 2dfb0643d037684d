import base64
import io

import numpy as np
import pytest
from PIL import Image

from vit.charts import attention, patches, photo
from vit.config import ViTConfig
from vit.data import normalise
from vit.datasets import NORMALISATION
from vit.drawing.colour import Crop

NOISE = np.random.default_rng(0).integers(100, 256, (200, 300, 3), np.uint8)
CONFIG = ViTConfig(image_size=32, channels=3, patch_size=4, width=24, depth=2, heads=3)


def pixels_of(step):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(step.source.split(",")[1]))))


def test_the_square_is_bright_and_the_rest_of_the_photo_dark():
    crop = Crop(50, 20, 100)
    picture = photo.framed(NOISE, crop)
    assert picture.pixels.shape == NOISE.shape
    inside = picture.pixels[crop.top + 3 : crop.top + 97, crop.left + 3 : crop.left + 97]
    np.testing.assert_array_equal(inside, NOISE[23:117, 53:147])
    assert picture.pixels[:20].max() <= 0.35 * 255
    assert "100 by 100 pixels" in picture.alt


@pytest.mark.parametrize("shape", [(200, 300), (300, 200), (640, 25), (30, 24)])
def test_a_click_leads_to_the_place_that_was_clicked(shape):
    picture = np.zeros((*shape, 3), np.uint8)
    cells = photo.framed(picture, Crop(0, 0, 1))
    for cell in {0, cells.rows * cells.columns // 2, cells.rows * cells.columns - 1}:
        x, y = photo.place_of(cell, picture)
        assert x * cells.columns // shape[1] == cell % cells.columns
        assert y * cells.rows // shape[0] == cell // cells.columns


def test_the_steps_end_with_the_numbers_that_the_model_gets():
    seen = NOISE[:32, :32]
    given = np.moveaxis(normalise(seen[None], NORMALISATION[3])[0].numpy(), 0, -1)
    figures = photo.steps(NOISE[:100, :100], seen, given, 8, "scaled to ", NORMALISATION[3]).values["figures"]
    assert [figure.grid for figure in figures] == [0, 8, 0]
    assert figures[0].caption == "cut out: 100 x 100 pixels"
    np.testing.assert_array_equal(pixels_of(figures[1]), seen)
    assert pixels_of(figures[2]).shape == (32, 3 * 32, 3)
    assert f"to {given.max():.2f} (red)" in figures[2].caption


def test_a_patch_is_told_by_its_three_colours():
    image = NOISE[:32, :32]
    picture = patches.three_colours(image, CONFIG, patch=9)
    tile = image[4:8, 4:8]
    assert (picture.rows, picture.columns) == (4, 12)
    assert picture.labels[12 + 4 + 2] == f"green {tile[1, 2, 1]}"
    assert picture.words[0] == str(tile[0, 0, 0])
    np.testing.assert_array_equal(picture.pixels[1, 8 + 2], (0, 0, tile[1, 2, 2]))
    assert patches.one_patch(image, CONFIG, 9).labels[6] == "red {}, green {}, blue {}".format(*tile[1, 2])


def test_a_photo_shines_through_where_attention_lies_on_it():
    image, row = NOISE[:32, :32], np.full(65, 1 / 65)
    plain = attention.over_digit(image, row, alt="a photo", caption="")
    brighter = attention.over_digit(np.maximum(image, 250), row, alt="a photo", caption="")
    assert plain.pixels.std((0, 1)).min() > 5  # not one colour all over
    assert brighter.pixels.mean() > plain.pixels.mean()


def test_the_patch_with_the_most_contrast_is_found():
    image = np.full((32, 32, 3), 200, np.uint8)
    image[20:24, 8:12] = NOISE[:4, :4]
    assert patches.most_varied(image, 4) == 5 * 8 + 2
