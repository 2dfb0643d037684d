import pytest

from vit.drawing import unipen

TWO_DIGITS = """\
.INCLUDE        dene.doc
.LEXICON "0" "1" "2"
.HIERARCHY      DIGIT

.SEGMENT DIGIT    0 ? "8"
.COMMENT 8 12  224
.PEN_DOWN
 267  333
 268  330.5
.PEN_UP
.DT 100
.PEN_DOWN
 100  490
.PEN_UP

.SEGMENT DIGIT    1 ? "1"
.COMMENT 1 11  151
.PEN_DOWN
 10  20
 10  0
.PEN_UP
"""


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        path = tmp_path / "digits.unipen"
        path.write_text(text)
        return path

    return write_text


def test_each_segment_is_a_digit_with_its_strokes(write):
    eight, one = unipen.read(write(TWO_DIGITS))
    assert eight.label == 8
    assert eight.strokes == [[(267, 167), (268, 169.5)], [(100, 10)]]
    assert one == ([[(10, 480), (10, 500)]], 1)


def test_y_points_down_from_the_top_of_the_box(write):
    _, one = unipen.read(write(TWO_DIGITS), side=100)
    assert one.strokes == [[(10, 80), (10, 100)]]


def test_what_comes_before_the_first_digit_is_passed_over(write):
    assert unipen.read(write(".COMMENT hello\n.PEN_DOWN\n 1 2\n.PEN_UP\n")) == []


def test_a_digit_without_strokes_is_kept(write):
    assert unipen.read(write('.SEGMENT DIGIT 0 ? "3"\n')) == [([], 3)]


@pytest.mark.parametrize("label", ['"x"', '"12"', "", '"'])
def test_a_segment_that_names_no_digit_is_refused_with_its_line(write, label):
    with pytest.raises(ValueError, match="Line 2 should end with a digit"):
        unipen.read(write(f"\n.SEGMENT DIGIT 0 ? {label}\n"))


@pytest.mark.parametrize("line", ["1", "one two"])
def test_a_point_that_is_none_is_refused_with_its_line(write, line):
    with pytest.raises(ValueError, match="Line 3 should hold x and y"):
        unipen.read(write(f'.SEGMENT DIGIT 0 ? "3"\n.PEN_DOWN\n{line}\n'))
