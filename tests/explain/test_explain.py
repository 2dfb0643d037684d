from math import log2

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from vit import explain
from vit.config import ViTConfig
from vit.data import normalise
from vit.explain import missing
from vit.interventions import CausalMask, HeadsOff, MaskPatches, MlpOff, PositionsOff, ScalingOff
from vit.trace import trace_image

COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)


@pytest.fixture
def trace(small_model, digit):
    return trace_image(small_model, digit)


# One number, unfolded


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


# Attention


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


# Which patches the answer stands on


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


# Embedding


def test_position_similarity_leaves_cls_out_and_is_one_with_oneself(trace):
    similarity = explain.position_similarity(trace.position_embeddings)
    a, b = trace.position_embeddings[3].astype(float), trace.position_embeddings[8].astype(float)
    assert similarity.shape == (16, 16)
    assert similarity[2, 7] == pytest.approx(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))
    np.testing.assert_allclose(np.diagonal(similarity), 1)


def test_positions_that_are_off_resemble_nothing(small_model, digit):
    trace = trace_image(small_model, digit, PositionsOff())
    assert (explain.position_similarity(trace.position_embeddings) == 0).all()


@pytest.mark.parametrize("config", [ViTConfig(patch_size=7, width=32, depth=1, heads=4), COLOURED])
def test_conv2d_with_the_same_weights_is_the_same_up_to_rounding(lively, config):
    shape = (config.image_size,) * 2 + ((3,) if config.channels == 3 else ())
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    model = lively(config)
    assert explain.conv2d_difference(model, image) < 1e-5
    model.embedding.cut = lambda images: torch.zeros(1, config.patches, config.patch_values)
    assert explain.conv2d_difference(model, image) > 0.1  # the comparison would notice


# The residual stream


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


# The answer


def test_the_lens_ends_with_the_models_own_answer(trace, small_model):
    lens = explain.logit_lens(trace, small_model)
    assert lens.logits.shape == lens.probabilities.shape == (4, 10)
    np.testing.assert_allclose(lens.logits[-1], trace.logits, atol=1e-4)
    np.testing.assert_allclose(lens.probabilities[-1], trace.probabilities, atol=1e-5)
    np.testing.assert_allclose(lens.probabilities.sum(-1), 1)


def test_the_lens_shows_what_a_model_with_fewer_blocks_would_answer(small_model, digit):
    lens = explain.logit_lens(trace_image(small_model, digit), small_model)
    for depth in range(3):
        shorter = small_model.blocks[:depth]
        with torch.inference_mode():
            z = small_model.embedding(normalise(digit[None]), lambda name, block, value: value)
            for block in shorter:
                z = block(z, lambda name, value: value)
            expected = small_model.head(small_model.norm(z[:, 0]))[0]
        np.testing.assert_allclose(lens.logits[depth], expected, atol=1e-4)


@pytest.mark.parametrize("interventions", [(), (MlpOff([0]), HeadsOff({1: [0, 2]})), (PositionsOff(),)])
def test_contributions_add_up_to_the_difference_of_the_logits(small_model, digit, interventions):
    trace = trace_image(small_model, digit, *interventions)
    for winner, runner_up in [(0, 1), (7, 3), (9, 2)]:
        shares = explain.contributions(trace, small_model, winner, runner_up)
        assert shares.attention.shape == shares.mlp.shape == (3,)
        assert shares.total == pytest.approx(trace.logits[winner] - trace.logits[runner_up], abs=1e-4)


def test_one_contribution_is_what_removing_it_would_change_at_the_same_deviation(trace, small_model):
    shares = explain.contributions(trace, small_model, 4, 8)
    final = torch.tensor(trace.blocks[-1].resid_post[0]).double()
    part = torch.tensor(trace.blocks[1].mlp_out[0]).double()

    def difference(z):
        normed = (z - z.mean()) / (final.var(unbiased=False) + 1e-6).sqrt()
        logits = small_model.head.double()(normed * small_model.norm.weight + small_model.norm.bias)
        return (logits[4] - logits[8]).item()

    assert shares.mlp[1] == pytest.approx(difference(final) - difference(final - part), abs=1e-6)


def test_swapping_the_two_classes_turns_every_contribution_round(trace, small_model):
    there = explain.contributions(trace, small_model, 2, 5)
    back = explain.contributions(trace, small_model, 5, 2)
    assert there.embedding == pytest.approx(-back.embedding)
    assert there.constant == pytest.approx(-back.constant)
    np.testing.assert_allclose(there.attention, -back.attention, atol=1e-9)
    np.testing.assert_allclose(there.mlp, -back.mlp, atol=1e-9)


def test_a_silent_part_contributes_nothing(small_model, digit):
    trace = trace_image(small_model, digit, MlpOff([2]))
    assert explain.contributions(trace, small_model, 1, 6).mlp[2] == 0


def test_neighbours_are_the_patches_that_touch():
    positions = [(row, column) for row in range(3) for column in range(3)]
    touching = [[max(abs(a - c), abs(b - d)) == 1 for c, d in positions] for a, b in positions]
    similarity = np.where(touching, 0.5, -0.25)
    assert explain.neighbour_similarity(similarity) == (0.5, -0.25)


def test_the_most_alike_is_never_the_patch_itself():
    similarity = np.array([[1.0, -0.2, 0.3], [-0.2, 1.0, -0.9], [0.3, -0.9, 1.0]])
    np.testing.assert_array_equal(explain.most_alike(similarity), [2, 0, 0])


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


# For pages


def lens_of(*rows):
    return explain.LogitLens(np.log(rows), np.array(rows))


@pytest.mark.parametrize(("rows", "settled"), [
    ([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], 0), ([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]], 1),
    ([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], 2),
])
def test_the_answer_settles_where_it_no_longer_changes(rows, settled):
    assert explain.settled_at(lens_of(*rows)) == settled


def test_parts_come_in_the_order_of_the_model_and_each_starts_where_the_last_ended(trace, small_model):
    shares = explain.contributions(trace, small_model, 3, 8)
    steps = explain.steps(shares)
    assert [(step.part, step.block) for step in steps] == [
        ("z₀", None), ("attention", 0), ("MLP", 0), ("attention", 1), ("MLP", 1), ("attention", 2), ("MLP", 2),
        ("fixed", None),
    ]
    assert [step.value for step in steps[1:-1:2]] == shares.attention.tolist()
    assert [step.value for step in steps[2:-1:2]] == shares.mlp.tolist()
    assert [0, *(step.after for step in steps[:-1])] == [step.before for step in steps]
    assert steps[-1].after == pytest.approx(shares.total)


def test_attention_maps_are_rows_of_the_pattern_laid_out_on_the_grid(trace):
    maps = explain.attention_maps(trace, token=5)
    assert maps.shape == (3, 4, 4, 4)
    assert maps[1, 2, 3, 0] == trace.blocks[1].pattern[2, 5, 1 + 3 * 4]


def test_under_gpts_mask_a_head_looks_as_in_a_model_that_has_it(trace, small_model, digit):
    masked = explain.causal_pattern(trace.blocks[0], head=1)
    truly = trace_image(small_model, digit, CausalMask()).blocks[0].pattern[1]
    np.testing.assert_allclose(masked, truly, atol=1e-6)
    assert masked[0, 0] == 1
