import numpy as np
import pytest

from vit import explain, numbers
from vit.charts import colours, layers
from vit.charts.picture import TemplatePicture
from vit.config import ViTConfig
from vit.interventions import MlpOff
from vit.trace import trace_image

ACCENT = colours.rgb(colours.ACCENT)


@pytest.fixture
def trace(small_model, digit):  # 3 blocks, a grid of 4x4 patches
    return trace_image(small_model, digit)


@pytest.fixture
def coloured(lively):  # 2 blocks, a grid of 4x4 patches of three colours
    model = lively(ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3))
    return trace_image(model, np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8))


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
    assert river.alt == "the length of patch 5 and of what every block adds to it"


def test_the_river_has_a_column_for_every_block(coloured):
    river = layers.river(coloured.blocks, explain.added(coloured), token=0, layer=1)
    assert (river.rows, river.columns, len(river.labels), len(river.words)) == (3, 2, 6, 6)
    assert river.alt.startswith("the length of CLS")


def test_the_legend_names_the_colours_of_the_river(trace):
    legend = layers.river_legend(token=5)
    assert isinstance(legend, TemplatePicture)
    assert {item["colour"]: item["words"] for item in legend.values["items"]} == {
        "attention": "attention adds", "accent": "patch 5, block by block", "mlp": "the MLP adds"
    }
    assert {item["colour"] for item in legend.values["items"]} <= set(colours.CSS)
    assert legend.template == "legend"


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
    assert maps.picture.labels[0] == f"after the embedding\npatch 3 and CLS: {numbers.plain(similarity[0, 3, 0])}"
    last_patch = len(maps.picture.labels) - 1
    assert maps.at(last_patch) == (0, 3, 16)
    assert maps.picture.labels[-1] == f"after block 3\npatch 3 and patch 16: {numbers.plain(similarity[3, 3, 16])}"
    assert [name for name in maps.picture.column_names if name] == ["z₀", "1", "2", "3"]
    assert maps.picture.column_names[2] == "z₀"
    assert maps.picture.alt == "cosine of patch 3 with every token at every depth"
    assert (maps.picture.legend.low, maps.picture.legend.high) == (-1, 1)


def test_maps_of_what_is_added_say_that_each_has_its_own_scale(coloured):
    picture = layers.added_maps(explain.added(coloured), token=0, layer=0).picture
    assert picture.columns == 2 * 5 - 1
    assert (picture.legend.low, picture.legend.high) == ("0", "most")
    assert "each map on its own scale" in picture.legend.caption


@pytest.mark.parametrize("token", [0, 6])
def test_the_chosen_token_is_framed_in_every_map(trace, token):
    pixels = layers.added_maps(explain.added(trace), token, layer=1).picture.pixels
    row, column, wide = (0, 0, 4) if token == 0 else (2 + 1, 1, 1)
    for part in range(2):
        for block in range(3):
            top, left = (7 * part + row) * layers.CELL, (5 * block + column) * layers.CELL
            assert (pixels[top, left : left + wide * layers.CELL] == ACCENT).all()
            assert (pixels[top : top + layers.CELL, left + wide * layers.CELL - 1] == ACCENT).all()


def test_the_sum_of_a_block_frames_one_number_in_all_its_rows(trace):
    values = explain.block_sum(trace.blocks[1], token=4)
    picture = layers.addition(values, layer=1, component=7, dark=True)
    assert (picture.rows, picture.columns) == (5, 32)
    assert list(picture.chosen) == [7, 32 + 7, 64 + 7, 96 + 7, 128 + 7]
    assert picture.labels[32 + 7] == f"number 8: {numbers.number(values[1, 7])}"
    assert picture.legend.high == -picture.legend.low == np.abs(values).max()
    assert picture.row_names == ["z₁", "+ MSA", "= z′₂", "+ MLP", "= z₂"]
    assert picture.alt == "block 2 as a sum of bar codes"
    assert picture.pixels.shape[1] % picture.columns == picture.pixels.shape[0] % picture.rows == 0


def test_names_of_the_states_have_small_numbers():
    assert layers.addition_names(9) == ["z₉", "+ MSA", "= z′₁₀", "+ MLP", "= z₁₀"]


@pytest.mark.parametrize("units", [512, 256, 128, 7, 37])
def test_the_mlp_mosaic_has_a_cell_for_every_unit(units):
    hidden = np.linspace(-0.1, 2, units)
    mosaic = layers.mlp_mosaic(hidden, unit=2, dark=False)
    assert mosaic.rows * mosaic.columns == len(mosaic.labels)
    assert sum("unit " in label for label in mosaic.labels) == units
    assert mosaic.rows <= units / 32 + 1
    assert list(mosaic.chosen) == [2]
    assert mosaic.labels[0] == "unit 1: −0.100"
    assert (mosaic.legend.low, mosaic.legend.high) == (-2, 2)
    last = mosaic.pixels.reshape(-1, 3)[units - 1]
    np.testing.assert_array_equal(last, colours.paint(2, colours.signed(False), -2, 2))


def test_the_norm_table_shows_mean_and_deviation_before_and_after(trace, small_model):
    x = trace.blocks[0].resid_pre[2]
    normed = explain.layer_norm_numbers(x, small_model.blocks[0].norm1)
    table = layers.norm_table(x, normed, component=7)
    assert table.template == "norm_table"
    assert table.values["names"][1:] == ["mean", "deviation", "smallest", "largest", "number 8"]
    for row, values in zip(table.values["rows"], (x, normed.normalised, normed.out), strict=True):
        told = values.mean(), values.std(), values.min(), values.max(), values[7]
        assert row[1:] == [numbers.plain(value) for value in told]


def test_the_path_of_cls_has_a_bar_and_a_length_for_every_depth(trace):
    path = explain.cls_path(trace)
    picture = layers.path(path, dark=False)
    (bars,) = picture.figure.data
    assert list(bars.x) == ["z₀", "1", "2", "3"]
    np.testing.assert_allclose(bars.y, path.to_final)
    assert list(bars.text) == [numbers.plain(cosine) for cosine in path.to_final]
    names = picture.figure.layout.xaxis.ticktext
    assert sorted(names) == sorted(f"{x}<br>{length:.1f}" for x, length in zip(bars.x, path.length, strict=True))
    assert "cosine of CLS" in picture.alt


@pytest.mark.parametrize("cosines", [[0.2, 1.0], [-0.7, 1.0], [0.0, 1.0]])
def test_no_bar_of_the_path_is_cut_off(cosines):
    picture = layers.path(explain.ClsPath(length=np.ones(2), to_final=np.array(cosines)), dark=True)
    low, high = picture.figure.layout.yaxis.range
    assert low <= min(0, *cosines)
    assert high > 1


def test_names_of_a_very_deep_model_have_room_below_their_bars():
    figure = layers.path(explain.ClsPath(length=np.ones(25), to_final=np.linspace(0, 1, 25)), dark=False).figure
    assert len(figure.data[0].x) == 25
    assert len(figure.layout.xaxis.ticktext) <= layers.NAMES_FIT
    assert figure.layout.xaxis.tickvals[0] == "24"
