"""Run folders: what readers make of them, whatever state they are in."""

import os
import time
from dataclasses import replace

import pytest

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


def beat(server):
    heartbeat = runs.heartbeat_of(server)
    heartbeat.parent.mkdir(exist_ok=True)
    heartbeat.touch()
    return heartbeat


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


@pytest.mark.parametrize("pair", ["My_Run", "", "[x](y)", "x" * 999])
def test_a_run_with_another_name_than_its_pair_is_found_by_its_own(root, pair):
    folder = runs.create(CONFIG, pair_id="new").rename(root / "my-run")
    (folder / "config.json").write_text((folder / "config.json").read_text().replace('"new"', f'"{pair}"'))
    assert runs.get("my-run").pair == "my-run"
    assert [run.id for run in runs.pair("my-run")] == ["my-run"]


def test_the_list_passes_over_what_is_no_run(root):
    good = runs.create(CONFIG)
    (root / "not-a-run").mkdir()
    (root / ".hidden").mkdir()
    (root / "a-file").touch()
    assert [run.id for run in runs.list_runs()] == [good.name]
    assert runs.unreadable() == []


def test_a_file_of_the_same_name_has_another_fingerprint(root):
    path = root / "file"
    path.write_bytes(b"first")
    first = runs.fingerprint(path)
    assert runs.fingerprint(path) == first
    path.unlink()
    path.write_bytes(b"other")
    assert runs.fingerprint(path) != first


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
    heartbeat = beat("server")
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
    beat("server")
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


def test_a_run_that_trains_or_waits_is_not_deleted_by_accident(root):
    folder = runs.create(CONFIG)
    with runs.locked(folder):
        runs.write_status(folder, "running")
        with pytest.raises(runs.RunError, match="Stop it first"):
            runs.delete(folder.name)
        assert runs.read_control(folder) == "run"
    beat("server")
    runs.resume(folder.name, "server")
    with pytest.raises(runs.RunError, match="Stop it first"):
        runs.delete(folder.name)
    runs.delete(folder.name, even_if_active=True)
    assert not folder.exists()


def test_no_write_brings_a_deleted_folder_back(root):
    folder = runs.create(CONFIG)
    runs.delete(folder.name)
    for write in (runs.write_control, runs.write_status):
        with pytest.raises(FileNotFoundError):
            write(folder, "stop")
    assert not folder.exists()


def test_presets_make_runs():
    for name, config in TRAINING_PRESETS.items():
        assert runs.read_run(runs.create(config, name, pair_id=name)).config == config
