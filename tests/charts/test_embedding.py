import numpy as np
import pytest

from vit import explain, numbers
from vit.charts import colours, embedding, patches
from vit.config import ViTConfig
from vit.trace import trace_image

COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)


@pytest.fixture(params=["grey", "coloured"])
def model(request, small_model, lively):
    return small_model if request.param == "grey" else lively(COLOURED)


@pytest.fixture
def trace(model, digit):
    coloured = np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    return trace_image(model, digit if model.config.channels == 1 else coloured)


@pytest.fixture
def weights(model):
    return model.embedding.projection.weight.detach().numpy()


def test_the_products_of_patch_and_filter_sum_to_the_output(model, trace, weights):
    config = model.config
    x, filter_, products = embedding.product(trace.patches[3], weights[5], config, 3, 5, dark=False)
    assert x.alt == "patch 4, as the model gets it"
    assert filter_.alt == "filter 6: a column of E"
    assert products.alt == "their products"
    for picture in (x, filter_, products):
        assert (picture.rows, picture.columns) == (config.channels * config.patch_size, config.patch_size)
        assert len(picture.labels) == config.patch_values
    values = trace.patches[3] * weights[5]  # all reds, then all greens, then all blues
    colour = np.repeat(patches.CHANNELS if config.channels == 3 else [""], config.patch_size**2)
    assert list(products.labels) == [f"{name} {numbers.number(value)}".strip()
                                     for name, value in zip(colour, values, strict=True)]
    bias = model.embedding.projection.bias[5].item()
    assert values.sum() + bias == pytest.approx(trace.patch_embeddings[3, 5], abs=1e-4)
    assert products.legend.high == -products.legend.low == pytest.approx(np.abs(values).max())


@pytest.mark.parametrize(("side", "written"), [(4, True), (7, False)])
def test_only_a_small_patch_has_room_for_its_numbers(side, written):
    values = np.linspace(-1, 1, side * side).reshape(side, side)
    picture = embedding.square(values, "a patch", dark=False)
    assert picture.words == (dict(enumerate(map(numbers.plain, values.ravel()))) if written else {})


def test_every_output_of_a_patch_is_a_stripe(model, trace):
    e = trace.patch_embeddings[2]
    picture = embedding.outputs(e, 9, dark=True)
    assert (picture.rows, picture.columns) == (1, model.config.width)
    assert list(picture.chosen) == [9]
    assert picture.labels[9] == f"10: {numbers.number(e[9])}"
    limit = np.abs(e).max()
    np.testing.assert_array_equal(picture.pixels[0, 9], colours.paint(e[9], colours.signed(True), -limit, limit))


@pytest.mark.parametrize("count", [32, 24, 10])
def test_every_filter_has_a_cell_of_its_own(count):
    weights = np.random.default_rng(0).normal(size=(count, 3 * 8 * 8))
    picture = embedding.all_filters(weights, channels=3, output=4, dark=False)
    assert list(picture.labels) == [f"filter {i + 1}" for i in range(count)]
    assert picture.rows * picture.columns >= count > (picture.rows - 1) * picture.columns
    tile = 8 + 2  # a gap on either side
    assert picture.pixels.shape == (picture.rows * tile, picture.columns * tile, 3)
    assert list(picture.chosen) == [4]
    assert picture.legend.high == np.abs(weights).max()
    assert "one scale for all" in picture.legend.caption


def test_a_filter_is_shown_in_the_colours_that_it_looks_for():
    wants_red = np.concatenate([np.full(16, 0.5), np.zeros(16), np.full(16, -0.25)])
    np.testing.assert_array_equal(embedding.in_colour(wants_red), np.full((4, 4, 3), (255, 128, 64)))


def test_many_numbers_stand_in_lines_and_count_on_from_line_to_line():
    values = np.linspace(-1, 1, 768)
    picture = embedding.outputs(values, 300, dark=True)
    assert (picture.rows, picture.columns) == (3, 256)
    assert picture.labels[300] == f"301: {numbers.number(values[300])}"
    tall = len(picture.pixels) // 3
    expected = colours.paint(values[300], colours.signed(True), -1, 1)
    np.testing.assert_array_equal(picture.pixels[tall, 300 - 256], expected)
    three = embedding.token_sum(np.stack([values] * 3), 300, dark=True)
    assert (three.rows, three.columns) == (9, 256)
    assert [three.row_names[row] for row in (0, 1, 3, 6)] == ["token", "", "+ pos", "= z₀"]
    np.testing.assert_array_equal(three.pixels[4 * len(three.pixels) // 9, 300 - 256], expected)


def test_token_and_position_stand_above_their_sum(model, trace):
    D = model.config.width
    rows = np.stack([trace.patch_embeddings[1], trace.position_embeddings[2], trace.tokens[2]])
    picture = embedding.token_sum(rows, output=7, dark=False)
    assert (picture.rows, picture.columns) == (3, D)
    assert list(picture.chosen) == [7, D + 7, 2 * D + 7]
    assert [picture.labels[cell] for cell in picture.chosen] == [f"8: {numbers.number(row[7])}" for row in rows]
    assert picture.legend.high == np.abs(rows).max()


def test_every_position_map_names_the_patch_that_is_most_alike(model, trace):
    similarity = explain.position_similarity(trace.position_embeddings)
    picture = embedding.all_positions(similarity, explain.most_alike(similarity), patch=5, dark=False)
    assert picture.rows == picture.columns == model.config.grid
    assert list(picture.chosen) == [5]
    for patch, label in enumerate(picture.labels):
        other = int(label.split()[-1]) - 1
        assert label.startswith(f"patch {patch + 1}: most like patch ")
        assert other != patch
        assert similarity[patch, other] == np.delete(similarity[patch], patch).max()
    assert (picture.legend.low, picture.legend.high) == (-1, 1)


def test_z0_has_a_row_for_cls_and_every_patch(model, trace):
    T, D = trace.tokens.shape
    picture = embedding.all_tokens(trace.tokens, model.config, token=6, dark=True)
    assert (picture.rows, picture.columns) == (T, D)
    assert picture.pixels.shape == (T, D, 3)
    assert picture.labels[0] == f"CLS, number 1: {numbers.number(trace.tokens[0, 0])}"
    assert picture.labels[6 * D + 3] == f"patch 6, number 4: {numbers.number(trace.tokens[6, 3])}"
    assert (list(picture.chosen), picture.span) == ([6 * D], D)
    assert (picture.row_names[0], picture.row_names[model.config.grid]) == ("CLS", str(model.config.grid))


def test_of_a_very_large_z0_each_row_is_told_as_a_whole():
    config = ViTConfig(patch_size=2, width=64)
    tokens = np.random.default_rng(0).normal(size=(config.tokens, 64))
    picture = embedding.all_tokens(tokens, config, token=9, dark=False)
    assert (picture.columns, list(picture.chosen), picture.span) == (1, [9], 1)
    assert picture.labels[9] == f"patch 9: from {numbers.number(tokens[9].min())} to {numbers.number(tokens[9].max())}"


def test_the_kernel_stands_on_its_patch_and_nowhere_else(model, trace, weights):
    config = model.config
    picture = embedding.kernel_on(trace.image, weights[5], config, patch=6, dark=False)
    tiles = patches.cut(picture.pixels, config.patch_size)
    plain = patches.cut(patches.in_colour(trace.image), config.patch_size) // 2
    kernel = (embedding.in_colour(weights[5]) if config.channels == 3 else
              embedding.matrix(embedding.patch_shape(weights[5], 1), dark=False))
    np.testing.assert_array_equal(tiles[6], kernel)
    np.testing.assert_array_equal(np.delete(tiles, 6, 0), np.delete(plain, 6, 0))
    assert (list(picture.chosen), picture.alt) == ([6], "the kernel standing on patch 7")
