"""Which patches the answer stands on."""


import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from vit import explain
from vit.config import ViTConfig
from vit.explain import missing
from vit.interventions import MaskPatches
from vit.trace import trace_image


def test_rollout_follows_every_path_from_token_to_cls(trace):
    T, blocks = len(trace.tokens), [block.pattern.mean(0) for block in trace.blocks]
    reached = np.zeros(T)

    def walk(token, depth, share):
        if depth < 0:
            reached[token] += share
        elif share > 1e-7:
            walk(token, depth - 1, share / 2)
            for other in range(T):
                walk(other, depth - 1, share / 2 * blocks[depth][token, other])

    walk(0, len(blocks) - 1, 1.0)
    np.testing.assert_allclose(explain.rollout(trace), reached, atol=1e-3)
    assert explain.rollout(trace).sum() == pytest.approx(1, abs=1e-5)


def held_by(config):
    """Numbers that one block computes for one image, about."""
    return config.tokens * (config.heads * config.tokens + 4 * config.width + config.mlp_width)


@pytest.mark.parametrize("at_once", [5, 49])
def test_occlusion_is_what_hiding_each_patch_alone_does(trace, small_model, digit, monkeypatch, at_once):
    monkeypatch.setattr(missing, "NUMBERS_AT_ONCE", at_once * held_by(small_model.config))
    answer = trace.prediction
    expected = [
        trace.probabilities[answer] - trace_image(small_model, digit, MaskPatches((patch,))).probabilities[answer]
        for patch in range(len(trace.patches))
    ]
    lost = explain.occlusion(trace, small_model)
    np.testing.assert_allclose(lost, expected, atol=1e-6)
    assert np.ptp(lost) > 1e-4


def test_the_same_order_is_1_whatever_the_values():
    a = np.array([0.1, 5.0, -2.0, 7.0])
    assert explain.same_order(a, np.exp(a)) == pytest.approx(1)
    assert explain.same_order(a, -a) == pytest.approx(-1)
    assert explain.same_order(np.array([1, 2, 3, 4]), np.array([2, 1, 4, 3])) == pytest.approx(0.6)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_equal_values_share_their_rank(pairs):
    a, b = np.array(pairs).T
    if np.ptp(a) and np.ptp(b):
        assert explain.same_order(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_what_is_the_same_everywhere_has_no_order():
    assert explain.same_order(np.ones(5), np.arange(5)) == 0
    assert explain.same_order(np.arange(5), np.zeros(5)) == 0


@pytest.mark.parametrize("more", [{"heads": 32}, {"mlp_ratio": 100.0}])
def test_a_larger_model_hides_fewer_patches_at_once(lively, digit, more):
    sizes = []
    for change in ({}, more):
        config = ViTConfig(**{"patch_size": 2, "width": 64, "depth": 1, "heads": 4} | change)
        model = lively(config)
        batches = []
        sizes.append(batches)
        model.register_forward_hook(lambda model, inputs, output, batches=batches: batches.append(len(output)))
        explain.occlusion(trace_image(model, digit), model)
        assert sum(batches[1:]) == 196
        assert max(batches) * held_by(config) <= missing.NUMBERS_AT_ONCE
    assert max(sizes[0]) > max(sizes[1])
