"""The residual stream."""


import numpy as np
import pytest
import torch

from vit import explain
from vit.interventions import MlpOff
from vit.trace import trace_image


def test_what_is_added_is_measured_against_the_token_before_the_block(trace):
    sizes = explain.added(trace)
    block = trace.blocks[1]
    before = np.sqrt((block.resid_pre[4].astype(float) ** 2).sum())
    assert sizes.attention.shape == sizes.mlp.shape == (3, 17)
    attention = block.resid_mid[4].astype(float) - block.resid_pre[4]
    mlp = block.resid_post[4].astype(float) - block.resid_mid[4]
    assert sizes.attention[1, 4] == pytest.approx(np.sqrt((attention**2).sum()) / before, rel=1e-4)
    assert sizes.mlp[1, 4] == pytest.approx(np.sqrt((mlp**2).sum()) / before, rel=1e-4)


def test_parts_that_are_off_add_nothing(small_model, digit):
    sizes = explain.added(trace_image(small_model, digit, MlpOff([1])))
    assert (sizes.mlp[1] == 0).all()
    assert (sizes.mlp[0] > 0).all()


def test_token_similarity_follows_all_tokens_from_the_embedding_to_the_last_block(trace):
    similarity = explain.token_similarity(trace)
    assert similarity.shape == (4, 17, 17)
    for depth, z in enumerate([trace.tokens, *(block.resid_post for block in trace.blocks)]):
        expected = torch.cosine_similarity(torch.tensor(z)[2], torch.tensor(z)[9], dim=0).item()
        assert similarity[depth, 2, 9] == pytest.approx(expected, abs=1e-5)


def test_the_path_of_cls_ends_where_it_ends(trace):
    path = explain.cls_path(trace)
    assert path.to_final[-1] == pytest.approx(1)
    states = torch.tensor(np.stack([trace.tokens[0], *(block.resid_post[0] for block in trace.blocks)]))
    np.testing.assert_allclose(path.length, states.norm(dim=1), rtol=1e-5)
    expected = torch.cosine_similarity(states, states[-1:], dim=1)
    np.testing.assert_allclose(path.to_final, expected, atol=1e-5)


def test_the_mean_over_the_others_leaves_the_token_out(trace):
    similarity = explain.token_similarity(trace)
    expected = (similarity[:, 2].sum(-1) - 1) / 16
    np.testing.assert_allclose(explain.mean_of_others(similarity, 2), expected)


def test_what_a_block_adds_adds_up(trace):
    for token in (0, 4):
        before, attention, between, mlp, after = explain.block_sum(trace.blocks[1], token)
        np.testing.assert_array_equal(before, trace.blocks[0].resid_post[token])
        np.testing.assert_allclose(before + attention, between, atol=1e-5)
        np.testing.assert_allclose(between + mlp, after, atol=1e-5)


def test_the_number_furthest_from_zero_may_be_negative():
    assert explain.furthest_from_zero(np.array([0.5, -2.0, 1.9])) == 1
