from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vit.datasets import DATASETS
from vit.details import Details, Epoch

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)
NAMES = [field.name for field in fields(Details)]


@given(ANYTHING | st.dictionaries(st.sampled_from(NAMES), ANYTHING))
def test_whatever_a_file_tells_its_details_make_sense(told):
    details = Details.of(told)
    assert details.dataset in DATASETS
    assert 0 <= details.unsure_below <= 1
    for share in (details.test_accuracy, details.validation_accuracy):
        assert share is None or 0 <= share <= 1
    assert all(isinstance(epoch, Epoch) for epoch in details.epochs)
    assert details.epoch is None or isinstance(details.epoch, int)


def test_what_makes_sense_is_kept():
    line = {"epoch": 2, "train_accuracy": 0.5, "validation_accuracy": 0.75, "seconds": 3}
    told = {"epochs": [line, "x"], "mean_of_epochs": [1, 2], "test_accuracy": 0.9, "unsure_below": 0.4}
    assert Details.of(told) == Details("mnist", 0.4, (Epoch(2, 0.5, 0.75),), (1, 2), 0.9)


@pytest.mark.parametrize("told", [
    {"unsure_below": "0.4"}, {"dataset": ["mnist"]}, {"epochs": [{"epoch": 1}]}, {"epoch": True},
])  # fmt: skip
def test_what_makes_none_is_left_out(told):
    assert Details.of(told) == Details()
