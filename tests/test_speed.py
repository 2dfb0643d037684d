"""The speed of training, estimated without harm to the server that estimates it."""

from dataclasses import replace

import pytest
import torch

from vit import speed
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.speed import Seconds, Speed


def test_depth_and_batch_are_scaled_by_closed_form():
    found = Speed(Seconds(per_step=1.0, per_image=0.1), Seconds(per_step=0.5, per_image=0.2))
    assert found.images_per_second(depth=1, batch_size=10) == pytest.approx(10 / 2.0)
    assert found.images_per_second(depth=3, batch_size=10) == pytest.approx(10 / (2.0 + 2 * 2.5))


@pytest.mark.parametrize("shape", [{"patch_size": 2, "heads": 64}, {"width": 320}, {"patch_size": 14, "width": 8}])
def test_a_step_that_is_tried_is_small(shape):
    two = replace(ViTConfig(width=64, heads=4), **shape, depth=2)
    images = speed.images_to_try(TrainConfig(model=two, batch_size=32))
    assert 1 <= images <= speed.MOST_IMAGES
    assert 16 * two.parameters + 4 * images * 2 * two.tokens * speed.numbers_per_token(two) <= speed.MOST_MEMORY
    assert images * speed.work_per_image(two) <= speed.MOST_WORK


def test_no_more_than_two_blocks_and_a_few_images_are_tried_however_many_are_asked_for(monkeypatch):
    tried = []

    def cost(config):
        tried.append((config.model.depth, config.batch_size))
        return Seconds(0.001, 0.001 * config.model.depth)

    monkeypatch.setattr(speed, "_cost", cost)
    deep = ViTConfig(patch_size=14, width=8, heads=2, depth=200)
    found = speed.measure(TrainConfig(model=deep, batch_size=64))
    assert tried == [(1, speed.MOST_IMAGES), (2, speed.MOST_IMAGES)]
    assert found.images_per_second(200, 64) == pytest.approx(64 / (0.001 + 200 * 64 * 0.001))


def test_a_model_that_is_too_large_is_not_tried(monkeypatch):
    monkeypatch.setattr(speed, "_cost", lambda *_: pytest.fail("It was tried."))
    assert speed.measure(TrainConfig(model=ViTConfig(width=4_000, depth=1), batch_size=1)) is None


def test_the_presets_get_an_estimate_that_leaves_torch_s_randomness_alone():
    before = torch.get_rng_state()
    for config in TRAINING_PRESETS.values():
        found = speed.measure(config)
        assert 1 < found.images_per_second(config.model.depth, config.batch_size) < 1e6
        assert found.images_per_second(100, config.batch_size) < found.images_per_second(1, config.batch_size)
    assert torch.equal(torch.get_rng_state(), before)
