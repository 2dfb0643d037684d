"""Numbers as pages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vit import numbers


@pytest.mark.parametrize(("value", "shown"), [
    (2.0, "2"), (1.999, "2.00"), (-0.5604, "−0.560"), (123.45, "123"), (99.96, "100"), (1234.5, "1234"),
    (0.0000123, "1.2e−05"), (-0.0, "0"), (float("inf"), "inf"), (float("nan"), "nan"),
])  # fmt: skip
def test_a_number_has_three_digits_that_matter(value, shown):
    assert numbers.number(value) == shown


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6))
def test_a_column_adds_up_to_its_total_by_its_last_digit(values):
    *terms, total = (shown.replace("−", "-") for shown in numbers.column([*values, sum(values)]))
    step = 10.0 ** -len(total.partition(".")[2])
    assert abs(sum(map(float, terms)) - float(total)) <= (len(values) + 1.01) * step / 2


def test_a_column_shows_four_digits_of_its_largest_and_no_negative_zero():
    assert numbers.column([1.27841, -0.000004, 0.5]) == ["1.278", "0.000", "0.500"]
    assert numbers.column([0.0, 0.0]) == ["0.000", "0.000"]
    assert numbers.column([float("inf"), 1.0])[0] == "inf"


def test_a_vector_is_one_row_with_dots_in_place_of_its_middle():
    assert numbers.row_vector([1, -2.5, -0.001]) == r"\left[1.00,\; -2.50,\; 0.00\right]"
    assert numbers.row_vector(range(9), most=4) == r"\left[0.00,\; 1.00,\; 2.00,\; \dots,\; 8.00\right]"
