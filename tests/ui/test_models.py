from dataclasses import replace

import numpy as np
import pytest

from tests.support.models import SMALL, make_lively
from vit import checkpoints, drawing, runs
from vit.caches import SizedCache
from vit.config import PRESETS, TrainConfig
from vit.interventions import HeadsOff, MaskPatches, PositionsOff
from vit.trace import trace_bytes, trace_image
from vit.ui import models

SEVEN = drawing.from_code("s0")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    return tmp_path


def make_run(root, config, seed):
    folder = runs.create(TrainConfig(model=config), folder=root / "again", pair_id="again")
    checkpoints.save(make_lively(config, seed), folder / "checkpoints" / "epoch-0001.safetensors")
    return "run:again/epoch-0001"


def test_a_run_made_again_under_the_same_name_shows_its_own_weights(root):
    for seed in (1, 2):
        model_id = make_run(root, SMALL, seed)
        expected = trace_image(make_lively(SMALL, seed), SEVEN.image())
        assert np.allclose(models.trace(model_id, SEVEN).logits, expected.logits, atol=1e-5)
        (root / "again" / "checkpoints" / "epoch-0001.safetensors").unlink()


def test_a_model_too_large_to_look_into_is_refused_with_a_sentence(root, monkeypatch):
    model_id = make_run(root, SMALL, 0)
    monkeypatch.setattr(models, "MOST_OF_A_TRACE", trace_bytes(SMALL) - 1)
    with pytest.raises(ValueError, match="too large to look into: of one drawing it would leave"):
        models.load(model_id)


def test_weights_that_do_not_fit_are_not_even_read(root, monkeypatch):
    model_id = make_run(root, SMALL, 0)
    monkeypatch.setattr(models, "_models", SizedCache(1000, models._size_of_model))
    monkeypatch.setattr(checkpoints, "load", lambda path: pytest.fail("It was read."))
    with pytest.raises(ValueError, match="MB is the most that can be looked into here"):
        models.load(model_id)


@pytest.mark.parametrize("config", [SMALL, replace(SMALL, patch_size=4, heads=8), PRESETS["cifar"]])
def test_a_trace_takes_as_much_memory_as_the_closed_form_says(config):
    shape = (config.image_size, config.image_size, 3)[: 2 + (config.channels == 3)]
    trace = trace_image(make_lively(config), np.zeros(shape, np.uint8))
    assert models._size_of_trace(trace) == trace_bytes(config)


def test_traces_of_many_drawings_stay_within_their_bytes(root, monkeypatch):
    one = trace_bytes(SMALL)
    monkeypatch.setattr(models, "_traces", SizedCache(3 * one, models._size_of_trace))
    model_id = make_run(root, SMALL, 0)
    for index in range(8):
        models.trace(model_id, drawing.from_sample(index))
        assert models._traces.held_bytes <= 3 * one
    assert len(models._traces) == 3


def test_each_change_of_a_model_has_a_trace_of_its_own(root):
    model_id = make_run(root, SMALL, 0)
    changes = [(), (PositionsOff(),), (MaskPatches((3,)),), (MaskPatches((4,)),), (HeadsOff({0: (1,)}),),
               (HeadsOff({0: (2,)}),), (PositionsOff(), MaskPatches((3,)))]
    logits = [models.trace(model_id, SEVEN, *change).logits.tobytes() for change in changes]
    assert len(set(logits)) == len(changes)


def test_the_untrained_model_touches_no_global_seed():
    import torch

    torch.manual_seed(7)
    once, again = (models._load("untrained").model.head.weight for _ in range(2))
    assert torch.equal(once, again)
    assert torch.initial_seed() == 7


@pytest.mark.parametrize(("model_id", "name"), [
    ("run:20261118-014500-ab12-flips/epoch-0003", "run ab12 · flips · epoch 3"),
    ("run:20261118-014500-ab12-s4-no-warm-up/epoch-0012", "run ab12-s4 · no-warm-up · epoch 12"),
    ("run:mine/epoch-0001", "run mine · epoch 1"), ("explorer", "explorer · trained"),
])  # fmt: skip
def test_names_of_runs_are_short_and_tell_twins_apart(model_id, name):
    assert models.name_of(model_id) == name
