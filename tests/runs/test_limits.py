"""How much may be trained: what is refused, in words, and what the formulas for memory and disk are worth."""

import contextlib
import os
import re
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.model import VisionTransformer
from vit.runs import limits

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


# Memory

SHAPES = {
    "article": (ViTConfig(), 4),
    "quick": (TRAINING_PRESETS["quick"].model, 8),
    "many heads": (ViTConfig(patch_size=2, width=64, depth=2, heads=32), 2),
    "one block": (ViTConfig(patch_size=2, width=64, depth=1, heads=32), 2),
    "deep and thin": (ViTConfig(width=32, depth=40, heads=2), 4),
    "wide MLP": (ViTConfig(depth=3, heads=4, mlp_ratio=64), 4),
    "dropout": (ViTConfig(depth=4, heads=4, dropout=0.1), 4),
}


def kept_for_backward(model: VisionTransformer, batch: int) -> int:
    """Bytes that a training step's forward pass really keeps, beside the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept, alive = {}, []

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        config = model.config
        pixels = torch.zeros(batch, config.channels, config.image_size, config.image_size)
        F.cross_entropy(model.train()(pixels), torch.zeros(batch, dtype=torch.long))
    return sum(kept.values())


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_batch_takes_by_the_formula_is_what_it_takes(name):
    shape, batch = SHAPES[name]
    formula = TrainConfig(model=shape, batch_size=batch)._batch_memory
    really = kept_for_backward(VisionTransformer(shape), batch)
    assert really <= formula  # which also counts what the backward pass needs for a moment, in one block
    work = 4 * batch * shape.tokens * (2 * shape.heads * shape.tokens + 2 * shape.mlp_width + 4 * shape.width)
    assert formula <= 1.1 * really + work


@pytest.mark.parametrize("name", SHAPES)
def test_a_validation_chunk_takes_no_more_than_a_batch_or_very_little(name):
    config = TrainConfig(model=SHAPES[name][0])
    assert 1 <= config.validation_chunk <= 200
    assert config.validation_chunk * config._judging_an_image <= max(config._batch_memory, 100e6)
    assert TrainConfig().validation_chunk == 200


@pytest.mark.parametrize(("change", "sentence"), [
    ({"epochs": 1_001}, "epochs must be at most 1,000, not 1,001."),
    ({"batch_size": 55_001}, "batch_size must be at most the 55,000 images that there are to learn from"),
    ({"batch_size": 400_000}, "at most the 55,000 images"),
    ({"batch_size": 50_000}, "GB of memory for each twin, and 8 GB is the most"),
    ({"model": ViTConfig(depth=200, mlp_ratio=32)}, "GB of memory for each twin"),
    ({"model": ViTConfig(width=4096, heads=8)}, "GB of memory for each twin"),
    ({"model": ViTConfig(width=2048, mlp_ratio=8)}, "GB of memory for each twin"),
    ({"model": ViTConfig(patch_size=1, heads=128), "batch_size": 16}, "GB of memory for each twin"),
    ({"seed": 2**63}, "seed must be at most 9,223,372,036,854,775,807"),
    ({"flips": "yes"}, "flips must be true or false, not 'yes'"),
    ({"learning_rate": "a"}, "learning_rate must be a number, not 'a'"),
])
def test_more_than_can_be_is_refused_in_words(change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        TrainConfig(**change)


def test_what_the_machine_cannot_hold_is_not_started(monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "2")
    monkeypatch.setattr(limits, "_machine_memory", lambda: 0.7e9)
    with pytest.raises(runs.RunError, match=r"this machine has 0\.7 GB\. A smaller"):
        runs.create_twins(CONFIG)
    assert runs.list_runs() == []


@pytest.mark.parametrize(("limit", "fits"), [("700000000\n", False), ("8000000000\n", True), ("max\n", True)])
def test_a_container_has_the_memory_that_it_may_take(root, monkeypatch, limit, fits):
    monkeypatch.setenv("PATCHWISE_WORKERS", "2")
    monkeypatch.setattr(limits, "_machine_memory", lambda: 8e9)
    monkeypatch.setattr(limits, "CONTAINER_LIMIT", root / "memory.max")
    limits.check_memory(2 * CONFIG.memory)  # there is no container
    (root / "memory.max").write_text(limit)
    with contextlib.nullcontext() if fits else pytest.raises(runs.RunError, match=r"this machine has 0\.7 GB"):
        limits.check_memory(2 * CONFIG.memory)


@pytest.mark.parametrize(("workers", "share"), [(1, None), (2, None), (3, "5.3"), (8, "2.0")])
def test_pairs_that_may_train_at_once_share_the_memory(monkeypatch, workers, share):
    monkeypatch.setenv("PATCHWISE_WORKERS", str(workers))
    monkeypatch.setattr(limits, "_machine_memory", lambda: 8e9)
    monkeypatch.setattr(limits, "_container_memory", lambda: float("inf"))
    if share is None:
        limits.check_memory(7.9e9)
    else:
        told = rf"8\.0 GB, {re.escape(share)} GB for each pair if {workers} runs train at once\. A smaller"
        limits.check_memory(1e9 * float(share) - 1e8)
        with pytest.raises(runs.RunError, match=told):
            limits.check_memory(1e9 * float(share) + 1e8)


# The disk


def test_over_the_disk_limit_no_run_is_made_and_none_is_lost(monkeypatch):
    folder = runs.create(CONFIG)
    (folder / "large").write_bytes(bytes(2_000_000))
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "1")
    with pytest.raises(runs.RunError, match="Delete old runs"):
        runs.create_twins(CONFIG)
    assert len(runs.list_runs()) == 1


def test_what_the_twins_will_need_counts_at_the_start(monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "20")
    with pytest.raises(runs.RunError, match=r"The runs take 0 MB, these would take up to 372 MB more, and 20 MB"):
        runs.create_twins(TRAINING_PRESETS["article"])
    assert runs.list_runs() == []
    runs.create_twins(CONFIG)


def test_all_files_are_counted_and_links_are_not_followed(root):
    (root / "a" / "b").mkdir(parents=True)
    for path, size in (("one", 100), ("a/two", 20), ("a/b/three", 3)):
        (root / path).write_bytes(bytes(size))
    (root / "a" / "circle").symlink_to(root)
    links = (root / "a" / "circle").lstat().st_size
    assert runs.disk_used() == 123 + links
    assert runs.disk_used(root / "a" / "b") == 3
    assert runs.disk_used(root / "nowhere") == 0


# Cores and the queue


def test_the_number_of_workers_can_be_set(monkeypatch):
    monkeypatch.undo()  # threads are fair ones again
    monkeypatch.setenv("PATCHWISE_WORKERS", "7")
    assert runs.max_workers() == 7
    monkeypatch.delenv("PATCHWISE_WORKERS")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert (runs.max_workers(), runs.fair_threads()) == (2, 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert runs.max_workers() * runs.fair_threads() <= 16


@pytest.mark.parametrize("value", ["", "no", "-3", "1.5", "²"])
def test_a_limit_that_is_no_number_is_the_usual_one(monkeypatch, value):
    monkeypatch.setenv("PATCHWISE_QUEUE", value)
    assert runs.max_waiting() == 8


def test_a_visitor_with_many_tabs_cannot_queue_without_end(root, monkeypatch):
    monkeypatch.setenv("PATCHWISE_QUEUE", "3")
    heartbeat = runs.heartbeat_of("server")
    heartbeat.parent.mkdir()
    heartbeat.touch()
    refusals = []
    for seed in range(15):
        try:
            pair = runs.create_twins(replace(CONFIG, seed=seed))
        except runs.RunError as refusal:
            refusals.append(str(refusal))
        else:
            for run in runs.pair(pair):
                runs.resume(run.id, "server")
    assert len(refusals) == 12
    assert all("3 pairs wait for their turn already" in refusal for refusal in refusals)
    assert len(runs.waiting()) == len(runs.list_runs()) == 6
