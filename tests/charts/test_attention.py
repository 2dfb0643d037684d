import numpy as np
import pytest

from vit import explain
from vit.charts import attention, colours
from vit.config import ViTConfig
from vit.numbers import number, plain
from vit.trace import trace_image

COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)


@pytest.fixture(params=["small", "coloured"])
def trace(request, small_model, lively, digit):
    if request.param == "small":  # 3 blocks, 4 heads, a grid of 4x4 patches
        return trace_image(small_model, digit)
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    return trace_image(lively(COLOURED), picture)


def shape_of(trace):
    return len(trace.blocks), len(trace.blocks[0].pattern)


def middle_of(picture, cell):
    """The pixel in the middle of a cell."""
    height, width, _ = picture.pixels.shape
    row, column = divmod(cell, picture.columns)
    return picture.pixels[int((row + 0.5) * height / picture.rows), int((column + 0.5) * width / picture.columns)]


def test_there_is_a_map_for_every_head_of_every_layer(trace):
    depth, heads = shape_of(trace)
    picture = attention.every_head(trace, token=3, layer=1, head=2, shared=False)
    assert (picture.rows, picture.columns) == (depth, heads)
    assert picture.chosen == [heads + 2]
    assert picture.alt == "where patch 3 looks, in every head of every layer"
    assert list(picture.row_names) == [str(layer) for layer in range(1, depth + 1)]
    row = trace.blocks[1].pattern[2, 3]
    told = f"layer 2, head 3\n{row[0]:.0%} on CLS\nhardest at patch {row[1:].argmax() + 1}: {row[1:].max():.0%}"
    assert picture.labels[heads + 2] == told
    assert picture.legend.high == "max"


def test_on_one_scale_only_the_highest_of_all_maps_is_brightest(trace):
    brightest = colours.paint(1, colours.WARM, 0, 1)
    _, heads = shape_of(trace)

    def maps_with_a_peak(shared):
        picture = attention.every_head(trace, 0, 0, 0, shared)
        tall, wide = (size // count for size, count in zip(picture.pixels.shape, (picture.rows, heads), strict=False))
        return sum((picture.pixels[r * tall : (r + 1) * tall, c * wide : (c + 1) * wide] == brightest).all(-1).any()
                   for r in range(picture.rows) for c in range(heads))

    assert maps_with_a_peak(shared=False) == len(trace.blocks) * heads
    assert maps_with_a_peak(shared=True) < len(trace.blocks) * heads
    highest = explain.attention_maps(trace, 0).max()
    assert attention.every_head(trace, 0, 0, 0, shared=True).legend.high == pytest.approx(highest)


def test_heads_that_are_off_are_grey_and_say_so(trace):
    _, heads = shape_of(trace)
    picture = attention.heads_to_switch(trace, off=[(0, 1), *((1, head) for head in range(heads))], blocks_off=[1])
    assert [picture.labels[cell] for cell in (0, 1, heads)] == [
        "layer 1, head 1 · on: click to switch off", "layer 1, head 2 · off: click to switch on",
        "layer 2, head 1 · off with its whole block: switch that on above",
    ]
    assert tuple(middle_of(picture, 1)) == tuple(middle_of(picture, heads)) == colours.GONE
    assert tuple(middle_of(picture, 0)) != colours.GONE


def test_each_point_of_the_distances_is_a_head_that_can_be_chosen(trace):
    depth, count = shape_of(trace)
    heads = explain.all_heads(trace)
    points, ring = attention.distances(heads, layer=1, head=2).figure.data
    assert [point[0] for point in points.customdata] == list(range(depth * count))
    assert all(type(point) in (list, tuple) for point in points.customdata)  # an array would come back as a dictionary
    for (cell, layer, head, bits), x, y in zip(points.customdata, points.x, points.y, strict=True):
        assert cell == (layer - 1) * count + head - 1
        assert (bits, y) == pytest.approx((heads.entropy[layer - 1, head - 1], heads.distance[layer - 1, head - 1]))
        assert round(x) == layer
    assert len(set(points.x)) == depth * count
    assert (ring.x[0], ring.y[0], ring.customdata[0][0]) == (points.x[count + 2], points.y[count + 2], count + 2)


def test_what_is_looked_at_glows_on_the_digit(trace):
    row = trace.blocks[0].pattern[0, 0]
    picture = attention.over_digit(trace.image, row, alt="where CLS looks", caption="of it all", chosen=[2], dashed=[5])
    assert picture.rows == picture.columns == round(len(row[1:]) ** 0.5)
    assert picture.labels[4] == f"patch 5: {row[5]:.1%}"
    assert (picture.alt, picture.chosen, picture.dashed) == ("where CLS looks", [2], [5])
    assert (picture.legend.low, picture.legend.high) == (0, pytest.approx(row[1:].max()))
    without_ink = attention.over_digit(np.zeros_like(trace.image), row, alt="light", caption="")
    np.testing.assert_array_equal(middle_of(without_ink, int(row[1:].argmax())), colours.paint(1, colours.WARM, 0, 1))


def test_a_patch_has_one_colour_and_the_ink_is_an_outline():
    image = np.zeros((28, 28), np.uint8)
    image[3:11, 3:11] = 255
    tints = np.random.default_rng(0).integers(60, 200, (16, 3), dtype=np.uint8)
    pixels = attention.on_ink(image, tints)
    side = len(pixels) // 4
    white, grey = (pixels == 255).all(-1), (pixels == attention.AROUND).all(-1)
    for patch in range(16):
        row, column = divmod(patch, 4)
        here = slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side)
        rest = pixels[here][~(white | grey)[here]]
        assert (rest == tints[patch]).all()
    inside = slice(3 * attention.FINE, 11 * attention.FINE)
    assert white[inside, inside].any()
    assert white.sum() == white[inside, inside].sum()
    assert attention.on_ink(np.zeros_like(image), tints)[white].max() != 255


def test_losses_are_red_and_wins_are_blue(trace):
    count = len(trace.patches)
    lost = np.linspace(-0.1, 0.3, count)
    picture = attention.losses(np.zeros_like(trace.image), lost)
    red, blue = middle_of(picture, count - 1), middle_of(picture, 0)
    assert red[0] > red[2]
    assert blue[2] > blue[0]
    assert picture.labels[0] == "patch 1: +10.00 points"
    assert picture.labels[-1] == f"patch {count}: −30.00 points"
    assert (picture.legend.low, picture.legend.high) == pytest.approx((-0.3, 0.3))


def test_the_whole_pattern_has_a_cell_for_every_pair(trace):
    looks = trace.blocks[0].pattern[1]
    T = len(looks)
    picture = attention.whole_pattern(looks, query=2, key=0)
    assert (picture.rows, picture.columns) == (T, T)
    assert picture.chosen == [2 * T]
    assert picture.labels[2 * T] == f"patch 2 → CLS: {looks[2, 0]:.1%}"
    np.testing.assert_array_equal(picture.pixels, colours.paint(looks, colours.WARM, 0, looks.max()))
    grid = round((T - 1) ** 0.5)
    named = {place: name for place, name in enumerate(picture.row_names) if name}
    assert named == {0: "CLS"} | {patch: str(patch) for patch in range(grid, T, grid)}
    assert picture.column_names == picture.row_names


def test_the_head_without_which_the_answer_loses_most_has_a_frame():
    answers = np.full((2, 3, 4), 0.25)
    answers[1, 2] = [0.1, 0.6, 0.2, 0.1]
    answers[0, 1, 1] = 0.8
    before = np.array([0.1, 0.7, 0.1, 0.1])
    picture = attention.heads_that_matter(answers, before, chosen=[4], worst=0, names=tuple("0123456789"), dark=False)
    assert (picture.rows, picture.columns, picture.dashed, picture.chosen) == (2, 3, [0], [4])
    assert picture.labels[5] == "layer 2, head 3: without it 1 has 60.0%\n(−10.00 points)"
    red, blue = picture.pixels[1, 2], picture.pixels[0, 1]
    assert red[0] > red[2]
    assert blue[2] > blue[0]


def test_query_and_key_are_written_out_where_there_is_room(trace):
    q, k = trace.blocks[0].q[0, 0], trace.blocks[0].k[0, 1]
    picture = attention.products(q, k, dark=False)
    assert (picture.rows, picture.columns) == (3, len(q))
    assert picture.words[2 * len(q)] == plain(q[0] * k[0])
    assert picture.labels[len(q)] == number(k[0])
    assert attention.products(np.ones(9), np.ones(9), dark=False).words == {}


def test_strips_have_a_cell_for_each_token_and_say_what_they_sum_to(trace):
    scores, row = trace.blocks[0].scores[0, 0], trace.blocks[0].pattern[0, 0]
    strip = attention.score_strip(scores, chosen=3, dark=True)
    assert (strip.rows, strip.columns, strip.chosen) == (1, len(scores), [3])
    assert strip.labels[0] == f"CLS: {number(scores[0])}"
    assert strip.legend.low == -strip.legend.high
    assert attention.weight_strip(row, 0).alt == "after softmax: they sum to 1.0000"
