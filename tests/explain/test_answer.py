"""The answer."""


import numpy as np
import pytest
import torch

from vit import explain
from vit.data import normalise
from vit.interventions import HeadsOff, MlpOff, PositionsOff
from vit.trace import trace_image


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
