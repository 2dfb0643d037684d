"""One number, unfolded."""


import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vit import explain


def sum_of_parts(dot):
    return sum(term.product for term in dot.terms) + dot.rest_sum + dot.bias


vectors = st.lists(
    st.tuples(st.floats(-100, 100, width=32), st.floats(-100, 100, width=32)), min_size=1, max_size=40
)


@given(vectors, st.floats(-10, 10), st.integers(0, 5))
def test_the_terms_the_rest_and_the_bias_add_up_to_the_total(pairs, bias, largest):
    a, b = np.array(pairs).T
    dot = explain.dot_product(a, b, bias, largest)
    assert sum_of_parts(dot) == pytest.approx(dot.total, abs=1e-6)
    assert dot.total == pytest.approx(sum(x * y for x, y in pairs) + bias, abs=1e-6)
    assert len(dot.terms) + dot.rest_count == len(pairs)


def test_the_shown_terms_are_the_largest_in_size_and_know_where_they_come_from():
    dot = explain.dot_product([1, 2, 3, 4, 5], [1, -20, 2, 0.5, 3], bias=7, largest=2)
    assert [(t.index, t.a, t.b, t.product) for t in dot.terms] == [(1, 2, -20, -40), (4, 5, 3, 15)]
    assert (dot.rest_count, dot.rest_sum, dot.total) == (3, 9, -9)


def test_the_models_own_number_is_the_total():
    assert explain.dot_product([1.0], [2.0], total=2.0000002).total == 2.0000002


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="one length"):
        explain.dot_product([1, 2], [1, 2, 3])


def test_an_mlp_unit_is_what_the_model_computed_once_gelu_has_seen_it(trace, small_model):
    for layer, token, unit in [(0, 0, 0), (2, 5, 17)]:
        dot = explain.mlp_unit(trace, small_model, layer, token, unit)
        hidden = dot.total * explain.normal_below(dot.total)
        assert hidden == pytest.approx(trace.blocks[layer].mlp_hidden[token, unit], abs=1e-5)


def test_x_times_the_share_below_it_is_torchs_gelu():
    for x in (-3.0, -0.5, 0.0, 0.7, 4.0):
        assert x * explain.normal_below(x) == pytest.approx(torch.nn.functional.gelu(torch.tensor(x)).item(), abs=1e-6)


def test_a_class_logit_unfolds_to_the_models_logit(trace, small_model):
    for label in range(10):
        dot = explain.class_logit(trace, small_model, label)
        assert dot.total == trace.logits[label]
        assert sum_of_parts(dot) == pytest.approx(dot.total, abs=1e-5)


def test_layer_norm_numbers_are_torchs(trace, small_model):
    norm = small_model.blocks[1].norm2
    numbers = explain.layer_norm_numbers(trace.blocks[1].resid_mid[3], norm)
    np.testing.assert_allclose(numbers.out, trace.blocks[1].ln2[3], atol=1e-5)
    assert numbers.mean == pytest.approx(trace.blocks[1].resid_mid[3].mean(), abs=1e-6)
    plain = explain.layer_norm_numbers([1.0, 3.0])
    assert (plain.mean, plain.deviation) == (2, pytest.approx(1))
    np.testing.assert_allclose(plain.out, [-1, 1], atol=1e-5)
