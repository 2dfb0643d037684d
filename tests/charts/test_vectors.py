import numpy as np

from vit.charts import colours, projections, vectors
from vit.numbers import number, plain


def test_a_vector_is_a_picture_of_one_row_and_writes_its_numbers_where_they_fit():
    values = np.array([0.5, -2.0, 1.0])
    picture = vectors.row(values, dark=False, alt="a vector", caption="v", chosen=[1])
    assert (picture.rows, picture.columns, picture.chosen) == (1, 3, [1])
    assert picture.words == {0: "0.50", 1: "−2.00", 2: "1.00"}
    assert picture.labels[1] == "number 2: −2"
    assert (picture.legend.low, picture.legend.high) == (-2, 2)
    long = vectors.row(np.linspace(-1, 1, 64), dark=False, alt="a long vector", caption="v")
    assert (long.columns, long.words, len(long.labels)) == (64, {}, 64)


def test_heads_stand_side_by_side_each_in_a_cell():
    heads = np.arange(12.0).reshape(3, 4) - 6
    picture = projections.concatenation(heads, chosen=2, dark=True)
    assert (picture.rows, picture.columns, picture.chosen) == (1, 3, [2])
    assert picture.pixels.shape[1] == 12
    assert picture.labels[2] == "head 3: " + ", ".join(map(plain, heads[2]))
    np.testing.assert_array_equal(picture.pixels[0], colours.paint(heads.ravel(), colours.signed(True), -6, 6))


def test_what_each_head_puts_in_is_written():
    put_in = np.array([0.25, -1.5])
    picture = projections.shares(put_in, chosen=0, dark=False)
    assert picture.words == {0: "0.25", 1: "−1.50"}
    assert picture.labels[1] == f"head 2: {number(-1.5)}"
