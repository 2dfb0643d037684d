"""Every head switched off by itself, in one pass: as the probe that switches heads off does it one by one."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.models import SMALL
from vit import explain
from vit.config import ViTConfig
from vit.explain import missing
from vit.interventions import HeadsOff
from vit.trace import trace_image
from vit.variants import VARIANTS


def one_by_one(model, image):
    config = model.config
    return np.array([[trace_image(model, image, HeadsOff({block: (head,)})).probabilities
                      for head in range(config.heads)] for block in range(config.depth)])


@pytest.mark.parametrize("at_once", [1, 3, 5, 100])
def test_each_head_is_off_as_if_it_alone_were_switched_off(small_model, digit, monkeypatch, at_once):
    T, D = SMALL.tokens, SMALL.width
    monkeypatch.setattr(missing, "NUMBERS_AT_ONCE", at_once * T * (SMALL.heads * T + 4 * D + SMALL.mlp_width))
    answers = explain.without_each_head(trace_image(small_model, digit), small_model)
    assert answers.shape == (SMALL.depth, SMALL.heads, SMALL.classes)
    np.testing.assert_allclose(answers, one_by_one(small_model, digit), atol=1e-6)
    assert np.ptp(answers[..., 0]) > 1e-3


@pytest.mark.parametrize("variant", sorted(VARIANTS.keys() - {"paper", "cnn"}))
def test_in_every_variant_too(lively, digit, variant):
    model = lively(replace(SMALL, variant=variant))
    answers = explain.without_each_head(trace_image(model, digit), model)
    np.testing.assert_allclose(answers, one_by_one(model, digit), atol=1e-6)


def test_a_large_model_takes_few_heads_at_once(lively, digit):
    model, seen = lively(ViTConfig(patch_size=2, width=64, depth=2, heads=16)), []
    trace = trace_image(model, digit)
    model.blocks[-1].register_forward_hook(lambda block, inputs, output: seen.append(len(output)))
    explain.without_each_head(trace, model)
    assert sum(seen) == 32
    assert max(seen) <= missing.at_once(model.config) < 16
