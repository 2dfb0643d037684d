"""Run folders: what readers make of them, whatever state they are in."""

import json
import os
import time
from dataclasses import replace

import pytest

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    return tmp_path


def test_twins_differ_in_flipping_alone():
    plain, flips = runs.pair(runs.create_twins(CONFIG, "quick"))
    assert (plain.config.flips, flips.config.flips) == (False, True)
    assert replace(flips.config, flips=False) == plain.config == CONFIG
    assert plain.threads == flips.threads
    assert plain.preset == "quick"


@pytest.mark.parametrize("run_id", ["..", "../x", "a/b", "", ".servers", "A", "x" * 200, "a\x00b"])
def test_a_run_id_cannot_lead_out_of_the_folder(root, run_id):
    with pytest.raises(FileNotFoundError, match="There is no run"):
        runs.folder_of(run_id)


def test_a_checkpoint_path_is_only_given_for_a_file_that_is_there(root):
    run = runs.read_run(runs.create(CONFIG))
    (run.folder / "checkpoints").mkdir()
    (run.folder / "checkpoints" / "epoch-0001.safetensors").touch()
    assert runs.checkpoint_path(run.id, "epoch-0001").name == "epoch-0001.safetensors"
    assert runs.get(run.id).checkpoints == ["epoch-0001"]
    for stem in ("epoch-0002", "../../config", "state", ""):
        with pytest.raises(FileNotFoundError, match="checkpoint"):
            runs.checkpoint_path(run.id, stem)


def test_the_list_passes_over_what_is_no_run(root):
    good = runs.create(CONFIG)
    (root / "not-a-run").mkdir()
    (root / "broken").mkdir()
    (root / "broken" / "config.json").write_text("{")
    (root / "older-version").mkdir()
    (root / "older-version" / "config.json").write_text(json.dumps({"train": {"model": {"size": 3}}}))
    assert [run.id for run in runs.list_runs()] == [good.name]


def test_metrics_are_read_as_they_grow_and_a_half_line_waits(root):
    path = root / "metrics.jsonl"
    feed = runs.Feed(root)
    assert feed.read() == []
    path.write_text('{"step": 1}\n{"step": 2}\n{"st')
    assert [line["step"] for line in feed.read()] == [1, 2]
    with path.open("a") as file:
        file.write('ep": 3}\n')
    assert [line["step"] for line in feed.read()] == [1, 2, 3]


def test_a_line_cut_short_by_a_crash_is_passed_over(root):
    (root / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    assert [line["step"] for line in runs.Feed(root).read()] == [1, 3]


def test_metrics_that_a_resumed_run_rewrote_are_read_again(root):
    path = root / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    feed = runs.Feed(root)
    feed.read()
    fresh = root / "fresh"
    fresh.write_text('{"step": 1}\n{"step": 20}\n{"step": 30}\n')
    os.replace(fresh, path)
    assert [line["step"] for line in feed.read()] == [1, 20, 30]


def test_a_running_run_without_a_worker_is_interrupted(root):
    folder = runs.create(CONFIG)
    runs.write_status(folder, "running")
    assert runs.read_run(folder).state == "interrupted"
    assert runs.read_run(folder).resumable
    with runs.locked(folder) as held:
        assert held
        assert runs.read_run(folder).state == "running"
        runs.write_control(folder, "stop")
        assert runs.read_run(folder).state == "stopping"


def test_a_queued_run_is_interrupted_when_its_server_is_gone(root):
    folder = runs.create(CONFIG)
    heartbeat = runs.heartbeat_of("server")
    heartbeat.parent.mkdir()
    heartbeat.touch()
    runs.resume(folder.name, "server")
    assert runs.read_run(folder).state == "queued"
    os.utime(heartbeat, (time.time() - 60,) * 2)
    assert runs.read_run(folder).state == "interrupted"


def test_only_one_worker_holds_a_folder(root):
    folder = runs.create(CONFIG)
    with runs.locked(folder) as first, runs.locked(folder) as second:
        assert first
        assert not second
    assert not runs.is_locked(folder)


def test_the_place_in_the_queue_counts_those_before(root):
    heartbeat = runs.heartbeat_of("server")
    heartbeat.parent.mkdir()
    heartbeat.touch()
    queued = []
    for number in range(3):
        folder = runs.create(CONFIG, pair_id=f"pair-{number}")
        runs.resume(folder.name, "server")
        queued.append(folder)
    assert [runs.place_in_queue(runs.read_run(folder)) for folder in queued] == [1, 2, 3]
    runs.stop(queued[0].name)
    assert [runs.place_in_queue(runs.read_run(folder)) for folder in queued[1:]] == [1, 2]


def test_deleting_removes_the_folder_and_nothing_else(root):
    gone, kept = runs.pair(runs.create_twins(CONFIG))
    runs.delete(gone.id)
    assert [run.id for run in runs.list_runs()] == [kept.id]


def test_over_the_disk_limit_no_run_is_made_and_none_is_lost(root, monkeypatch):
    folder = runs.create(CONFIG)
    (folder / "large").write_bytes(bytes(2_000_000))
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "1")
    with pytest.raises(runs.RunError, match="Delete old runs"):
        runs.create_twins(CONFIG)
    assert len(runs.list_runs()) == 1


def test_an_unreadable_status_is_told_not_raised(root):
    folder = runs.create(CONFIG)
    (folder / "status.json").write_text("{")
    assert runs.read_run(folder).state == "interrupted"


def test_the_number_of_workers_can_be_set(monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "7")
    assert runs.max_workers() == 7
    monkeypatch.delenv("PATCHWISE_WORKERS")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert (runs.max_workers(), runs.fair_threads()) == (2, 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert runs.max_workers() * runs.fair_threads() <= 16


def test_presets_make_runs():
    for name, config in TRAINING_PRESETS.items():
        assert runs.read_run(runs.create(config, name, pair_id=name)).config == config
