import numpy as np
import pytest
import torch
from torch import nn

from tests.support.models import SMALL
from vit import explain, machine
from vit.config import ViTConfig
from vit.trace import trace_image

VARIANTS = ("paper", "post-norm", "no-residuals", "mean-pooling", "causal-last", "no-scaling", "tanh-gelu")


@pytest.fixture(params=VARIANTS)
def model(request, lively):
    return lively(ViTConfig(patch_size=7, width=32, depth=3, heads=4, variant=request.param))


@pytest.fixture
def trace(model, digit):
    return trace_image(model, digit)


@pytest.mark.parametrize("token", [0, 5])
def test_every_unfolded_number_is_the_one_that_the_model_computed(model, trace, token):
    for layer, block in enumerate(trace.blocks):
        made = machine.block_sums(block, model, layer, token)
        computed = {name: getattr(block, name)[:, token].ravel() for name in ("q", "k", "v")}
        computed |= {name: getattr(block, name)[token] for name in ("attn_out", "mlp_out")}
        for name, values in computed.items():
            np.testing.assert_allclose(made[name].total, values[made[name].place], rtol=1e-4, atol=1e-5)
        hidden = made["mlp_hidden"]
        activated = model.blocks[layer].activation(torch.from_numpy(hidden.total))
        np.testing.assert_allclose(activated, block.mlp_hidden[token][hidden.place], rtol=1e-4, atol=1e-5)


def test_the_products_told_are_the_largest_and_belong_to_the_sum():
    linear, x = nn.Linear(20, 9), np.linspace(-1, 2, 20)
    told = machine.sums(x, linear, np.array([2, 7]))
    for n, place in enumerate((2, 7)):
        weights = linear.weight.detach().numpy()[place]
        order = np.argsort(-np.abs(weights * x))
        assert told.index[n].tolist() == order[:3].tolist()
        np.testing.assert_array_equal(told.weight[n], weights[order[:3]])
        assert told.total[n] == pytest.approx(weights @ x + linear.bias[place].item(), rel=1e-6)


def test_each_head_has_one_number_of_q_k_and_v_unfolded_its_largest(small_model, digit):
    block = trace_image(small_model, digit).blocks[1]
    places = machine.block_sums(block, small_model, 1, 0)["q"].place
    q = block.q[:, 0]
    assert [place // SMALL.head_width for place in places] == list(range(SMALL.heads))
    np.testing.assert_array_equal(q.ravel()[places], np.take_along_axis(q, np.abs(q).argmax(1)[:, None], 1)[:, 0])


def test_what_the_head_reads_becomes_y_by_the_last_layer_norm(model, trace):
    read = machine.read_at_the_end(trace, model.config)
    np.testing.assert_allclose(explain.layer_norm_numbers(read, model.norm).out, trace.cls_out, atol=1e-4)


def test_there_is_an_answer_after_each_block_only_where_the_model_would_give_it(model, trace):
    lens = machine.lens(trace, model)
    if model.config.variant in ("post-norm", "no-residuals", "mean-pooling", "causal-last"):
        assert lens is None
        assert machine.no_lens(model.config).endswith(".")
    else:
        np.testing.assert_allclose(lens[-1], trace.probabilities, atol=1e-5)
        assert machine.no_lens(model.config) == ""


def test_the_tokens_kept_of_a_head_are_those_it_looks_at_most(small_model, digit):
    pattern = trace_image(small_model, digit).blocks[0].pattern[:, 3]
    looked = machine.most_looked_at(pattern)
    for row, kept in zip(pattern, looked, strict=True):
        assert row[kept].min() >= np.delete(row, kept).max()
        assert (np.diff(row[kept]) <= 0).all()
