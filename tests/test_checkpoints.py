import contextlib
import dataclasses
import json
import os
import pickle
import struct

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from vit import checkpoints
from vit.checkpoints import BadCheckpoint
from vit.config import PRESETS, ViTConfig
from vit.details import Details

MINUTE = ViTConfig(patch_size=14, width=8, depth=1, heads=2)


@pytest.fixture
def model(lively):
    return lively(MINUTE)


@pytest.fixture
def file(model, tmp_path):
    path = tmp_path / "model.safetensors"
    checkpoints.save(model, path)
    return path


def rewrite(file, changed_weights=None, **header):
    """The same file with other weights or another header."""
    weights = load_file(file) | (changed_weights or {})
    weights = {name: value for name, value in weights.items() if value is not None}
    header = {"config": json.dumps(dataclasses.asdict(MINUTE))} | header
    save_file(weights, file, {key: value for key, value in header.items() if value is not None})


# There and back


@pytest.mark.parametrize("preset", ["article", "cifar", "quick"])
def test_a_saved_model_comes_back_to_the_last_bit(preset, lively, tmp_path):
    model = lively(PRESETS[preset])
    checkpoints.save(model, tmp_path / "model.safetensors")
    loaded = checkpoints.load(tmp_path / "model.safetensors")
    assert loaded.config == PRESETS[preset]
    torch.testing.assert_close(loaded.state_dict(), model.state_dict(), rtol=0, atol=0)


def test_a_loaded_model_is_ready_to_predict(file):
    loaded = checkpoints.load(str(file))
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    assert loaded(torch.zeros(1, 1, 28, 28)).shape == (1, 10)


def test_half_precision_halves_the_file_and_hardly_moves_the_logits(lively, tmp_path):
    model = lively(PRESETS["quick"])
    whole, half = tmp_path / "whole.safetensors", tmp_path / "half.safetensors"
    checkpoints.save(model, whole)
    checkpoints.save(model, half, half=True)
    assert half.stat().st_size < 0.53 * whole.stat().st_size
    loaded = checkpoints.load(half)
    assert {value.dtype for value in loaded.state_dict().values()} == {torch.float32}
    image = torch.randn(1, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        torch.testing.assert_close(loaded(image), model(image), rtol=0, atol=1e-2)


def test_a_model_keeps_its_details(model, tmp_path):
    path = tmp_path / "new" / "folder" / "model.safetensors"
    told = {"dataset": "kmnist", "epoch": 3, "flips": True, "validation_accuracy": 0.5, "by": "ö"}
    checkpoints.save(model, path, told)
    assert checkpoints.details(path) == Details("kmnist", epoch=3, flips=True, validation_accuracy=0.5)
    assert checkpoints.load(path).config == MINUTE


def test_a_model_without_details_has_empty_ones(file):
    assert checkpoints.details(file) == Details()


def test_any_reader_of_safetensors_can_read_our_weights(model, file):
    torch.testing.assert_close(load_file(file), dict(model.state_dict()), rtol=0, atol=0)


# Refusals


def refused(file, *words):
    with pytest.raises(BadCheckpoint) as refusal:
        checkpoints.load(file)
    sentence = str(refusal.value)
    for word in (file.name, *words):
        assert word in sentence
    assert "\n" not in sentence


def test_a_name_that_is_not_there_is_refused_with_the_shipped_ones(tmp_path):
    with pytest.raises(BadCheckpoint, match="no checkpoint 'exploder'; shipped: explorer"):
        checkpoints.load("exploder")
    refused(tmp_path, "There is no checkpoint")


def test_unknown_and_missing_weights_are_refused_by_name(file):
    rewrite(file, {"norm.weight": None, "norm.gain": torch.ones(8)})
    refused(file, "1 weights are missing ['norm.weight']", "1 are unknown ['norm.gain']")


@pytest.mark.parametrize("claimed", [{"depth": 200}, {"width": 4096}, {"classes": 11}])
def test_weights_of_another_model_are_refused_at_once(claimed, file):
    rewrite(file, config=json.dumps(dataclasses.asdict(MINUTE) | claimed))
    refused(file, f"holds {MINUTE.parameters:,} numbers, but the model that it describes has")


@pytest.mark.parametrize("claimed", [{"depth": 10**9}, {"width": 10**18}])
def test_a_model_that_cannot_be_is_refused_at_once(claimed, file):
    rewrite(file, config=json.dumps(dataclasses.asdict(MINUTE) | claimed))
    refused(file, "does not describe a model of this project", "at most")


def test_weights_of_another_shape_are_refused(file):
    rewrite(file, {"head.weight": torch.ones(8, 10)})
    refused(file, "head.weight", "(8, 10)", "not floating point (10, 8)")


def test_weights_that_are_whole_numbers_are_refused(file):
    rewrite(file, {"head.bias": torch.ones(10, dtype=torch.int32)})
    refused(file, "head.bias", "torch.int32 (10,)", "not floating point")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(value, file):
    weight = torch.ones(10, 8)
    weight[3, 4] = value
    rewrite(file, {"head.weight": weight})
    refused(file, "head.weight", "not finite")


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (None, "has no config"),
        (json.dumps({"widht": 8}), "widht"),
        (json.dumps(dataclasses.asdict(MINUTE) | {"heads": 3}), "cannot be shared evenly by 3 heads"),
        (json.dumps(dataclasses.asdict(MINUTE) | {"mlp_ratio": float("inf")}), "mlp_ratio"),
        (json.dumps(dataclasses.asdict(MINUTE) | {"dropout": None}), "dropout"),
        (json.dumps([1, 2]), ""),
        (json.dumps(None), ""),
        ("width=8", ""),
    ],
)
def test_a_file_that_describes_no_model_is_refused(config, word, file):
    rewrite(file, config=config)
    refused(file, word)


def test_a_truncated_file_is_refused_wherever_it_ends(file):
    whole = file.read_bytes()
    for length in range(0, len(whole), 97):
        file.write_bytes(whole[:length])
        refused(file, "not a whole safetensors file")


@pytest.mark.parametrize("content", [b"", b"a text", b"PK\3\4" + bytes(99), struct.pack("<Q", 2**63) + b"{}"])
def test_a_file_of_another_kind_is_refused(content, file):
    file.write_bytes(content)
    refused(file, "not a whole safetensors file")


class Burglar:
    def __init__(self, loot):
        self.loot = loot

    def __reduce__(self):
        return os.mkdir, (str(self.loot),)


@pytest.mark.parametrize("dump", [lambda value, path: path.write_bytes(pickle.dumps(value)), torch.save])
def test_a_pickle_is_refused_and_nothing_in_it_runs(dump, file, tmp_path):
    dump(Burglar(tmp_path / "loot"), file)
    refused(file, "not a whole safetensors file")
    assert not (tmp_path / "loot").exists()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_in_the_header_never_ends_in_another_error(data, file):
    whole = file.with_suffix(".whole")
    if not whole.exists():
        whole.write_bytes(file.read_bytes())
    content = bytearray(whole.read_bytes())
    header = 8 + struct.unpack("<Q", content[:8])[0]
    for position in data.draw(st.lists(st.integers(0, header - 1), min_size=1, max_size=3)):
        content[position] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    with contextlib.suppress(BadCheckpoint):
        checkpoints.load(file)


# Optimizers


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.RMSprop])
def test_an_optimizer_goes_on_from_its_tensors_bit_for_bit(kind, tmp_path):
    def learner():
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        return layer, kind(layer.parameters(), lr=0.1)

    def step(layer, optimizer):
        optimizer.zero_grad()
        layer(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()

    first, optimizer = learner()
    step(first, optimizer)
    path = tmp_path / "state.safetensors"
    checkpoints.write_tensors(path, checkpoints.pack_optimizer(optimizer) | {"model.x": torch.zeros(1)}, {})
    second, other = learner()
    second.load_state_dict(first.state_dict())
    checkpoints.unpack_optimizer(other, checkpoints.read_tensors(path)[0])
    for each in ((first, optimizer), (second, other)):
        step(*each)
    torch.testing.assert_close(second.state_dict(), first.state_dict(), rtol=0, atol=0)


def test_details_that_are_no_dictionary_are_none(model, tmp_path):
    path = tmp_path / "model.safetensors"
    checkpoints.write_tensors(path, dict(model.state_dict()), {"story": [1, 2]})
    assert checkpoints.details(path) == Details()


# Atomic writes


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_litter(broken, file, lively, monkeypatch):
    old = file.read_bytes()

    def no_space(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, broken, no_space)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save(lively(MINUTE, seed=1), file)
    assert file.read_bytes() == old
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_an_interrupted_write_leaves_the_old_file_too(file, lively, monkeypatch):
    old = file.read_bytes()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(lively(MINUTE, seed=1), file)
    assert file.read_bytes() == old
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_has_its_name_only_when_it_is_whole(file, lively, monkeypatch):
    replace, sizes = os.replace, []

    def watch(temporary, path):
        sizes.append(os.path.getsize(temporary))
        replace(temporary, path)

    monkeypatch.setattr(os, "replace", watch)
    checkpoints.save(lively(MINUTE, seed=1), file)
    assert sizes == [file.stat().st_size]


def test_a_model_in_memory_does_not_change_when_its_file_does(file, lively):
    loaded = checkpoints.load(file)
    before = {name: value.clone() for name, value in loaded.state_dict().items()}
    checkpoints.save(lively(MINUTE, seed=1), file)
    torch.testing.assert_close(dict(loaded.state_dict()), before, rtol=0, atol=0)
