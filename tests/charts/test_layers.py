import numpy as np
import pytest

from vit import explain
from vit.charts import colours, layers, numbers
from vit.interventions import MlpOff
from vit.trace import trace_image

ACCENT = colours.rgb(colours.ACCENT)


@pytest.fixture
def trace(small_model, digit):  # 3 blocks, a grid of 4x4 patches
    return trace_image(small_model, digit)


def count(pixels, colour):
    return int((pixels == colour).all(-1).sum())


def test_the_river_says_what_each_block_adds_to_the_token(trace):
    sizes = explain.added(trace)
    river = layers.river(trace.blocks, sizes, token=5, layer=1)
    assert (river.rows, river.columns) == (3, 3)
    assert river.pixels.shape == (3 * layers.BAND, 3 * layers.BLOCK_WIDTH, 3)
    assert [river.words[i] for i in range(3)] == [numbers.share(part) for part in sizes.attention[:, 5]]
    assert [river.words[i] for i in range(3, 6)] == ["1", "2", "3"]
    assert [river.words[i] for i in range(6, 9)] == [numbers.share(part) for part in sizes.mlp[:, 5]]
    before = np.linalg.norm(trace.blocks[2].resid_pre[5])
    assert f"length before {before:.2f}" in river.labels[2] == river.labels[5] == river.labels[8]


def test_bars_are_as_tall_as_what_is_added_is_long(trace):
    river = layers.river(trace.blocks, explain.added(trace), token=0, layer=0)
    added = np.linalg.norm([block.mlp_out[0] for block in trace.blocks], axis=-1)
    bars = [river.pixels[2 * layers.BAND :, int((number + 0.3) * layers.BLOCK_WIDTH)] for number in range(3)]
    heights = np.array([count(bar, colours.rgb(layers.MLP)) for bar in bars])
    np.testing.assert_allclose(heights / heights.max(), added / added.max(), atol=0.02)


def test_a_silent_mlp_leaves_no_bar(small_model, digit):
    trace = trace_image(small_model, digit, MlpOff([0, 1, 2]))
    pixels = layers.river(trace.blocks, explain.added(trace), token=0, layer=0).pixels
    assert count(pixels, colours.rgb(layers.MLP)) == 0
    assert count(pixels, colours.rgb(layers.ATTENTION)) > 0


def test_only_the_chosen_block_is_framed(trace):
    pixels = layers.river(trace.blocks, explain.added(trace), token=0, layer=2).pixels
    left = 2 * layers.BLOCK_WIDTH
    assert (pixels[:, left] == ACCENT).all()
    assert (pixels[0, left:] == ACCENT).all()
    assert not (pixels[0, :left] == ACCENT).all(-1).any()


def test_shares_beyond_ten_times_are_told_as_times():
    shares = 0.084, 1, 9.99, 10, 24.6
    assert [numbers.share(part) for part in shares] == ["8%", "100%", "999%", "10×", "25×"]
    assert layers.of_its_length(0.84) == "84% of its length"
    assert layers.of_its_length(24.6) == "25 times its length"


def test_numbers_in_equations_wear_brackets_when_negative():
    assert [numbers.bracketed(value) for value in (1.2, -1.2, -0.0001)] == ["1.200", "(-1.200)", "0.000"]


def test_every_cell_of_the_token_maps_knows_its_map_and_token(trace):
    maps = layers.added_maps(explain.added(trace), token=6, layer=1)
    picture = maps.picture
    assert (picture.rows, picture.columns) == (2 * (4 + 3) - 1, 3 * 5 - 1)
    places = [maps.at(cell) for cell in range(picture.rows * picture.columns)]
    found = {place for place in places if place}
    assert found == {(part, number, token) for part in range(2) for number in range(3) for token in range(17)}
    attention = np.linalg.norm([block.attn_out for block in trace.blocks], axis=-1)
    mlp = np.linalg.norm([block.mlp_out for block in trace.blocks], axis=-1)
    for cell, place in enumerate(places):
        assert bool(picture.labels[cell]) == bool(place)
        if place:
            part, number, token = place
            assert f"adds {(attention, mlp)[part][number, token]:.2f}" in picture.labels[cell]
            row, column = (int((index + 0.5) * layers.CELL) for index in divmod(cell, picture.columns))
            of_map = (attention, mlp)[part][number]
            colour = colours.paint(of_map[token], colours.WARM, 0, of_map.max())
            np.testing.assert_allclose(picture.pixels[row, column].astype(int), colour, atol=1)


def test_similarity_maps_begin_with_the_embedding(trace):
    similarity = explain.token_similarity(trace)
    maps = layers.similarity_maps(similarity, token=3, layer=0, dark=False)
    assert maps.picture.columns == 4 * 5 - 1
    assert maps.at(0) == (0, 0, 0)
    assert maps.picture.labels[0] == f"after the embedding\npatch 3 and CLS: {similarity[0, 3, 0]:.2f}"
    last_patch = len(maps.picture.labels) - 1
    assert maps.at(last_patch) == (0, 3, 16)
    assert maps.picture.labels[-1] == f"after block 3\npatch 3 and patch 16: {similarity[3, 3, 16]:.2f}"


def test_the_mean_over_the_others_leaves_the_token_out(trace):
    similarity = explain.token_similarity(trace)
    expected = (similarity[:, 2].sum(-1) - 1) / 16
    np.testing.assert_allclose(layers.mean_of_others(similarity, 2), expected)


def test_the_rows_of_the_addition_add_up(trace):
    pixels, values, limit = layers.addition(trace.blocks[1], token=4, dark=True)
    np.testing.assert_allclose(values[0] + values[1], values[2], atol=1e-5)
    np.testing.assert_allclose(values[2] + values[3], values[4], atol=1e-5)
    assert limit == np.abs(values).max()
    assert layers.addition_names(9) == ["z₉", "+ MSA", "= z′₁₀", "+ MLP", "= z₁₀"]
    assert pixels.shape[1] % values.shape[1] == pixels.shape[0] % 5 == 0


@pytest.mark.parametrize("units", [512, 256, 128, 7, 37])
def test_the_mlp_mosaic_has_a_cell_for_every_unit(units):
    hidden = np.linspace(-0.1, 2, units)
    mosaic = layers.mlp_mosaic(hidden, dark=False)
    assert mosaic.rows * mosaic.columns == len(mosaic.labels)
    assert sum("unit " in label for label in mosaic.labels) == units
    assert mosaic.rows <= units / 32 + 1
    last = mosaic.pixels.reshape(-1, 3)[units - 1]
    np.testing.assert_array_equal(last, colours.paint(2, colours.signed(False), -2, 2))


def test_the_norm_table_shows_mean_and_deviation_before_and_after(trace, small_model):
    x = trace.blocks[0].resid_pre[2]
    numbers = explain.layer_norm_numbers(x, small_model.blocks[0].norm1)
    table = layers.norm_table(x, numbers, component=7)
    for value in (x.mean(), x.std(), x[7], numbers.normalised[7], numbers.out[7], numbers.out.std()):
        assert f">{value:.2f}<".replace("-", "−") in table
    assert "number 8" in table


def test_the_path_shows_every_depth(trace):
    path = explain.cls_path(trace)
    html = layers.path(path)
    for cosine, length in zip(path.to_final, path.length, strict=True):
        assert f">{cosine:.2f}<" in html
        assert f">{length:.1f}<" in html
