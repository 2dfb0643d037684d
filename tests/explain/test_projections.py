"""From z to q, k and v, and from the heads to z': each step computed anew is what the model computed."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.models import SMALL
from vit import explain
from vit.trace import trace_image
from vit.variants import VARIANTS


@pytest.fixture(params=sorted(VARIANTS.keys() - {"cnn"}))
def model(request, lively):
    return lively(replace(SMALL, variant=request.param))


@pytest.fixture
def trace(model, digit):
    return trace_image(model, digit)


def sum_of(product):
    return sum(term.product for term in product.terms) + product.rest_sum + product.bias


@pytest.mark.parametrize("kind", ["q", "k", "v"])
def test_a_query_key_and_value_are_what_attention_reads_times_a_matrix_plus_a_bias(trace, model, kind):
    for layer, head, token, component in [(0, 0, 0, 0), (1, 3, 5, 7), (2, 2, 16, 3)]:
        product = explain.projected(trace, model, layer, kind, head, token, component)
        assert sum_of(product) == pytest.approx(product.total, abs=1e-4)
        assert product.total == pytest.approx(getattr(trace.blocks[layer], kind)[head, token, component])


def test_the_heads_side_by_side_times_the_output_matrix_are_what_attention_adds(trace, model):
    linear = model.blocks[1].attention.out_proj
    for token in (0, 9):
        whole = explain.concatenated(trace.blocks[1], token) @ explain.weights(linear.weight).T
        np.testing.assert_allclose(whole + explain.weights(linear.bias), trace.blocks[1].attn_out[token], atol=1e-4)
        product = explain.mixed(trace, model, 1, token, 11)
        assert sum_of(product) == pytest.approx(product.total, abs=1e-4)
        assert product.total == pytest.approx(trace.blocks[1].attn_out[token, 11])


def test_what_all_heads_put_in_and_the_bias_are_the_whole_number(trace, model):
    put_in = explain.put_in_by_heads(trace, model, 2, 3, 20)
    bias = model.blocks[2].attention.out_proj.bias[20].item()
    assert put_in.shape == (SMALL.heads,)
    assert put_in.sum() + bias == pytest.approx(trace.blocks[2].attn_out[3, 20], abs=1e-4)


def test_head_after_head_stands_in_the_row(trace):
    row, d_k = explain.concatenated(trace.blocks[0], 4), SMALL.head_width
    np.testing.assert_array_equal(row[2 * d_k : 3 * d_k], trace.blocks[0].heads[2, 4])


def test_the_lens_ends_with_the_models_own_answer_in_every_variant(trace, model):
    lens = explain.logit_lens(trace, model)
    np.testing.assert_allclose(lens.logits[-1], trace.logits, atol=1e-3)


def test_contributions_add_up_wherever_the_stream_is_a_sum(trace, model):
    total = explain.contributions(trace, model, 3, 8).total
    lead = float(trace.logits[3] - trace.logits[8])
    assert (total == pytest.approx(lead, abs=1e-3)) == explain.is_a_sum(model.config)
