"""Attention."""

from math import log2

import numpy as np
import pytest

from vit import explain
from vit.interventions import CausalMask, MaskPatches, ScalingOff
from vit.trace import trace_image


def test_entropy_counts_in_bits_from_one_token_to_all_alike():
    assert explain.entropy(np.array([0.0, 1.0, 0.0])) == 0
    assert explain.entropy(np.full(16, 1 / 16)) == pytest.approx(4)
    np.testing.assert_allclose(explain.entropy(np.array([[0.5, 0.5], [0.25, 0.75]])), [1, 0.8112781])


def test_looking_at_oneself_is_no_distance_and_at_the_neighbour_one_patch():
    themselves = np.eye(10)
    right = np.eye(10)
    right[1:, 1:] = np.kron(np.eye(3), [[0, 1, 0], [0, 0, 1], [0, 1, 0]])  # the last column looks left
    assert explain.attention_distance(np.stack([themselves, right]), 3, 4) == pytest.approx([0, 4])


def test_attention_on_cls_does_not_count_as_distance():
    pattern = np.zeros((1, 5, 5))
    pattern[0, :, 0] = 0.9
    pattern[0, [1, 2, 3, 4], [4, 3, 2, 1]] = 0.1  # the rest goes to the opposite corner
    assert explain.attention_distance(pattern, 2, 7) == pytest.approx([7 * 2**0.5])


def test_distances_agree_with_a_plain_loop(trace):
    pattern, grid, side = trace.blocks[1].pattern, 4, 7
    for head, distance in enumerate(explain.attention_distance(pattern, grid, side)):
        per_query = []
        for query in range(16):
            row = pattern[head, query + 1, 1:].astype(float)
            steps = [np.hypot(query // grid - key // grid, query % grid - key % grid) for key in range(16)]
            per_query.append(side * np.dot(row / row.sum(), steps))
        assert distance == pytest.approx(np.mean(per_query))


def test_every_head_of_every_block_has_its_numbers(trace):
    heads = explain.all_heads(trace)
    assert heads.entropy.shape == heads.distance.shape == (3, 4)
    rows = trace.blocks[2].pattern[1].astype(float)
    assert heads.entropy[2, 1] == pytest.approx(-(rows * np.log2(rows)).sum(1).mean())
    assert heads.distance[2] == pytest.approx(explain.attention_distance(trace.blocks[2].pattern, 4, 7))
    assert (heads.entropy <= log2(17)).all()


def test_heads_that_see_only_cls_have_no_distance_and_no_entropy(small_model, digit):
    heads = explain.all_heads(trace_image(small_model, digit, MaskPatches(range(16))))
    assert (heads.distance == 0).all()
    assert (heads.entropy == 0).all()


def test_without_scaling_scores_spread_by_the_root_of_the_head_width(trace, small_model, digit):
    scaled, unscaled = explain.scaling_effect(trace.blocks[1], head=2)
    np.testing.assert_allclose(scaled.scores, trace.blocks[1].scores[2], atol=1e-5)
    np.testing.assert_allclose(scaled.pattern, trace.blocks[1].pattern[2], atol=1e-6)
    assert unscaled.spread == pytest.approx(scaled.spread * 8**0.5)
    np.testing.assert_allclose(unscaled.pattern.sum(-1), 1)
    assert unscaled.entropy.mean() < scaled.entropy.mean()


def test_the_unscaled_pattern_is_the_one_that_a_model_without_scaling_computes(small_model, digit):
    changed = trace_image(small_model, digit, ScalingOff(small_model.config)).blocks[0]
    scaled, unscaled = explain.scaling_effect(changed, head=0)
    np.testing.assert_allclose(unscaled.pattern, changed.pattern[0], atol=1e-5)
    assert scaled.spread < unscaled.spread


def test_what_a_mask_hides_stays_hidden_without_scaling(small_model, digit):
    scaled, unscaled = explain.scaling_effect(trace_image(small_model, digit, CausalMask()).blocks[0], head=0)
    assert (np.triu(unscaled.pattern, 1) == 0).all()
    assert np.isfinite([scaled.spread, unscaled.spread]).all()
    assert unscaled.entropy[0] == 0  # CLS sees itself only


def test_attention_maps_are_rows_of_the_pattern_laid_out_on_the_grid(trace):
    maps = explain.attention_maps(trace, token=5)
    assert maps.shape == (3, 4, 4, 4)
    assert maps[1, 2, 3, 0] == trace.blocks[1].pattern[2, 5, 1 + 3 * 4]


def test_under_gpts_mask_a_head_looks_as_in_a_model_that_has_it(trace, small_model, digit):
    masked = explain.causal_pattern(trace.blocks[0], head=1)
    truly = trace_image(small_model, digit, CausalMask()).blocks[0].pattern[1]
    np.testing.assert_allclose(masked, truly, atol=1e-6)
    assert masked[0, 0] == 1
