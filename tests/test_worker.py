"""Workers as real processes: killed, paused, queued, orphaned, on a full disk."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.support.runs import metrics_without_time, state_of, steps_of, wait_for
from vit import checkpoints, runs
from vit.config import TrainConfig, ViTConfig
from vit.data import DataUnavailable
from vit.reports import Validation
from vit.runs import processes, queue, work
from vit.training import load_examples

PROJECT = Path(__file__).parent.parent
CONFIG = TrainConfig(
    model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=1600, epochs=3, batch_size=16,
    validate_every=50, validation_images=100, report_every=5,
)
ENDLESS = replace(CONFIG, epochs=1_000)


@pytest.fixture
def server(root):
    dispatcher = queue.Dispatcher(root)
    yield dispatcher
    for run in runs.list_runs():
        runs.stop(run.id)
    wait_for(lambda: not runs.busy() and not dispatcher.children)
    dispatcher.close()


def test_a_run_killed_in_the_middle_resumes_and_ends_with_the_metrics_of_an_undisturbed_one(server):
    undisturbed = runs.create(CONFIG, pair_id="undisturbed")
    killed = runs.create(CONFIG, pair_id="killed")
    server.start(undisturbed.name, killed.name)
    wait_for(lambda: len(steps_of(killed)) > 10)
    runs.pause(killed.name)
    wait_for(lambda: state_of(killed) == "paused")
    at_pause = steps_of(killed)[-1]
    server.start(killed.name)
    wait_for(lambda: steps_of(killed)[-1] > at_pause + 20)
    server.children[killed.name].process.send_signal(signal.SIGKILL)
    wait_for(lambda: state_of(killed) == "failed")
    assert "SIGKILL" in runs.read_status(killed).reason
    with (killed / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')
    server.start(killed.name)
    wait_for(lambda: state_of(killed) == state_of(undisturbed) == "done")
    assert metrics_without_time(killed) == metrics_without_time(undisturbed)
    assert runs.read_run(killed).checkpoints == [f"epoch-{epoch:04d}" for epoch in range(4)]
    for stem in runs.read_run(killed).checkpoints:
        ours, _ = checkpoints.read_tensors(runs.checkpoint_path(killed.name, stem))
        theirs, _ = checkpoints.read_tensors(runs.checkpoint_path(undisturbed.name, stem))
        assert all(ours[name].equal(theirs[name]) for name in theirs)


def test_pause_stop_and_one_epoch_are_obeyed(server):
    folder = runs.create(ENDLESS)
    server.start(folder.name)
    wait_for(lambda: len(steps_of(folder)) > 2)
    runs.pause(folder.name)
    wait_for(lambda: state_of(folder) == "paused")
    at_pause = steps_of(folder)
    server.run_one_epoch(folder.name, epochs_done=at_pause[-1] // 100)
    wait_for(lambda: steps_of(folder)[-1] > at_pause[-1] and state_of(folder) == "paused")
    after_epoch = runs.Feed(folder).read()[-1]
    assert isinstance(after_epoch, Validation)
    assert after_epoch.whole
    assert after_epoch.epoch == at_pause[-1] // 100 + 1
    server.start(folder.name)
    wait_for(lambda: steps_of(folder)[-1] > after_epoch.step)
    runs.stop(folder.name)
    assert state_of(folder) in ("stopping", "stopped")
    wait_for(lambda: state_of(folder) == "stopped")
    assert (folder / "state.safetensors").exists()
    assert (folder / "batch.npz").exists()


def test_after_one_epoch_it_stays_paused_when_its_worker_leaves(server):
    folder = runs.create(ENDLESS)
    server.run_one_epoch(folder.name, epochs_done=0)
    wait_for(lambda: state_of(folder) == "paused")
    os.kill(server.children[folder.name].process.pid, signal.SIGTERM)
    wait_for(lambda: not server.children)
    assert state_of(folder) == "paused"
    assert runs.Feed(folder).read()[-1].epoch == 1


def test_further_runs_queue_and_a_pausing_worker_makes_room(server, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, second = (runs.create(ENDLESS, pair_id=name) for name in ("first", "second"))
    server.start(first.name, second.name)
    wait_for(lambda: steps_of(first))
    assert state_of(second) == "queued"
    assert runs.place_in_queue(runs.read_run(second)) == 1
    assert list(server.children) == [first.name]
    runs.pause(first.name)
    wait_for(lambda: state_of(second) == "running")
    assert state_of(first) == "paused"
    server.start(first.name)
    assert state_of(first) == "queued"


SERVER = """
import sys, time
from vit.runs.queue import dispatcher
dispatcher().start(sys.argv[1])
time.sleep(600)
"""


def test_when_the_server_is_killed_its_worker_saves_and_ends_and_a_new_server_resumes_it(root):
    folder = runs.create(ENDLESS)
    old_server = subprocess.Popen([sys.executable, "-c", SERVER, folder.name], cwd=PROJECT)
    try:
        wait_for(lambda: len(steps_of(folder)) > 2)
    finally:
        old_server.kill()
        old_server.wait()
    wait_for(lambda: not runs.busy())
    assert state_of(folder) == "interrupted"
    before = steps_of(folder)[-1]
    new_server = queue.Dispatcher(root)
    new_server.start(folder.name)
    wait_for(lambda: steps_of(folder)[-1] > before)
    assert steps_of(folder) == sorted(steps_of(folder))
    runs.delete(folder.name, even_if_active=True)
    assert not folder.exists()
    new_server.close()


def test_a_damaged_config_fails_its_run_and_holds_nobody_up(server):
    damaged, sound = (runs.create(CONFIG, pair_id=name) for name in ("damaged", "sound"))
    recorded = json.loads((damaged / "config.json").read_text())
    recorded["train"]["dataset"] = "no-such-data"
    (damaged / "config.json").write_text(json.dumps(recorded))
    server.start(damaged.name, sound.name)
    wait_for(lambda: state_of(damaged) == "failed")
    assert "dataset must be one of" in runs.read_status(damaged).reason
    wait_for(lambda: state_of(sound) == "running")


def test_on_the_command_line_ctrl_c_leaves_a_resumable_run(root):
    folder = root / "long"
    command = [sys.executable, "-m", "vit.worker", str(folder), "--threads", "1"]
    new = ["--preset", "quick", "--set", "train_images=640", "batch_size=32", "epochs=2", "validation_images=100"]
    first = subprocess.Popen([*command, *new], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: (folder / "metrics.jsonl").exists() and steps_of(folder))
    first.send_signal(signal.SIGINT)
    output, _ = first.communicate(timeout=180)
    assert "Interrupted." in output
    assert (folder / "state.safetensors").exists()
    second = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=180)
    assert "Done. Epochs done: all 2." in second.stdout
    assert "images/s" in second.stdout
    assert steps_of(folder)[-1] == 40


def on_the_command_line(*arguments):
    command = [sys.executable, "-m", "vit.worker", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=180)


@pytest.mark.parametrize("name", ["My_Run", "Über run.2"])
def test_on_the_command_line_a_folder_may_have_any_name(root, name):
    little = ["train_images=32", "batch_size=16", "epochs=1", "validation_images=10"]
    ended = on_the_command_line(root / "elsewhere" / name, "--preset", "quick", "--threads", 1, "--set", *little)
    assert "Done. Epochs done: all 1." in ended.stdout
    assert runs.read_run(root / "elsewhere" / name).pair == name


def test_the_command_line_tells_in_a_sentence_what_it_cannot_do(root):
    (root / "damaged").mkdir()
    (root / "damaged" / "config.json").write_text("[]")
    (root / "file").touch()
    for arguments, sentence in (
        ([root / "damaged"], "Its config.json cannot be used"),
        ([root / "new"], "holds no run; make one with --preset"),
        ([root / "new", "--preset", "quick", "--threads", 5000], "A run has 1 to 1024 threads, not 5000."),
        ([root / "file" / "new", "--preset", "quick"], "not a directory"),
    ):
        told = on_the_command_line(*arguments)
        assert told.returncode != 0
        assert sentence in told.stderr
        assert "Traceback" not in told.stderr
    assert not (root / "new").exists()


def test_a_full_disk_ends_in_a_clear_status_and_nothing_is_lost(root, monkeypatch):
    folder = runs.create(CONFIG)
    (folder / "checkpoints").mkdir()
    write, written = checkpoints.write_tensors, []

    def quota(path, tensors, header):
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write(path, tensors, header)

    monkeypatch.setattr(checkpoints, "write_tensors", quota)
    assert work.Worker(folder).work() == 1
    status = runs.read_status(folder)
    assert status.state == "failed"
    assert "The disk is full" in status.reason
    for path in written:
        checkpoints.read_tensors(path)
    monkeypatch.undo()
    monkeypatch.setenv("PATCHWISE_RUNS", str(root))
    assert work.Worker(folder).work() == 0
    assert state_of(folder) == "done"


def test_data_that_cannot_be_had_fail_the_run_with_their_own_sentence(root, monkeypatch):
    def offline(*_):
        raise DataUnavailable("Fashion-MNIST could not be downloaded: check the internet connection.")

    monkeypatch.setattr(work.data, "needs_download", lambda name: True)
    monkeypatch.setattr(work.data, "download", offline)
    folder = runs.create(replace(CONFIG, dataset="fashion-mnist"))
    assert work.Worker(folder).work() == 1
    status = runs.read_status(folder)
    assert status.state == "failed"
    assert status.reason == "Fashion-MNIST could not be downloaded: check the internet connection."


def test_a_download_is_told_in_the_status(root, monkeypatch):
    told = []

    def download(name, progress):
        progress(12_000_000, 26_000_000)
        told.append(runs.read_status(folder).reason)
        progress(13_000_000, 26_000_000)  # so soon after the first that it is not worth writing
        told.append(runs.read_status(folder).reason)

    monkeypatch.setattr(work.data, "needs_download", lambda name: name == "fashion-mnist")
    monkeypatch.setattr(work.data, "download", download)
    monkeypatch.setattr(work, "load_examples", lambda config: load_examples(replace(config, dataset="mnist")))
    folder = runs.create(replace(CONFIG, dataset="fashion-mnist"))
    with runs.locked(folder):
        assert work.Worker(folder).work() == 0
    assert told == ["Fashion-MNIST is being downloaded: 12.0 of 26.0 MB"] * 2
    assert runs.read_status(folder).state == "done"


def test_a_warm_worker_takes_a_run_at_once(root):
    server = queue.Dispatcher(root)
    server.expect_a_start()
    wait_for(lambda: len(server.place.warm) == min(processes.WARM_WORKERS, runs.max_workers()))
    warm = list(server.place.warm)
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: state_of(folder) == "done")
    assert any(worker not in server.place.warm for worker in warm)
    server.close()
    wait_for(lambda: all(worker.process.poll() is not None for worker in warm))


def small_disk(folder: Path) -> bool:
    if os.name != "posix" or os.geteuid() != 0:
        return False
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    return subprocess.run(mount, capture_output=True).returncode == 0


def test_a_really_full_disk_ends_in_a_clear_status(root, monkeypatch):
    disk = root / "disk"
    disk.mkdir()
    if not small_disk(disk):
        pytest.skip("mounting a small disk needs rights that we do not have here")
    try:
        monkeypatch.setenv("PATCHWISE_RUNS", str(disk))
        folder = runs.create(CONFIG)
        assert work.Worker(folder).work() == 1
        status = runs.read_status(folder)
        assert status.state == "failed"
        assert "The disk is full" in status.reason
        assert steps_of(folder)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_checkpoints_are_thinned_out_but_first_and_last_stay(root, monkeypatch):
    monkeypatch.setattr(work, "CHECKPOINTS_KEPT", 3)
    config = TrainConfig(model=CONFIG.model, train_images=32, batch_size=16, epochs=9, validation_images=100)
    folder = runs.create(config)
    work.Worker(folder).work()
    kept = runs.read_run(folder).checkpoints
    assert len(kept) <= 3
    assert kept[0] == "epoch-0000"
    assert kept[-1] == "epoch-0009"


def test_weights_that_would_not_fit_the_limit_end_the_run_in_words_and_nothing_is_lost(root, monkeypatch):
    config = TrainConfig(model=ViTConfig(patch_size=14, width=64, depth=2, heads=2), train_images=32, batch_size=16,
                         epochs=15, validation_images=100)
    folder = runs.create(config)
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "5")
    assert work.Worker(folder).work() == 0
    status = runs.read_status(folder)
    assert (status.state, status.reason) == ("failed", work.NO_MORE_ROOM)
    assert runs.disk_used() <= 5_000_000
    kept = runs.get(folder.name).checkpoints
    assert len(kept) > 3
    for stem in kept:
        checkpoints.load(runs.checkpoint_path(folder.name, stem))
    told = runs.Feed(folder).read()
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "100")
    assert work.Worker(folder).work() == 0
    assert state_of(folder) == "done"
    assert f"epoch-{len(kept):04d}" in runs.get(folder.name).checkpoints  # that there had been no room for
    again = runs.Feed(folder).read()
    assert again[: len(told)] == told


def test_a_run_outside_the_folder_of_runs_has_no_limit(root, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(root / "runs"))
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    folder = runs.create(replace(CONFIG, epochs=1), folder=root / "elsewhere")
    assert work.Worker(folder).work() == 0
    assert state_of(folder) == "done"


@pytest.mark.parametrize("damage", [b"", b"no tensors", None])
def test_a_state_that_cannot_be_read_fails_the_run_in_words(root, damage):
    folder = runs.create(CONFIG)
    if damage is None:
        checkpoints.write_tensors(folder / "state.safetensors", {"model.x": torch.zeros(3)}, {"progress": {}})
    else:
        (folder / "state.safetensors").write_bytes(damage)
    assert work.Worker(folder).work() == 1
    status = runs.read_status(folder)
    assert status.state == "failed"
    assert status.reason.startswith("state.safetensors")


@pytest.mark.parametrize(("command", "state"), [("stop", "stopped"), ("pause", "paused")])
def test_who_is_stopped_or_paused_before_the_first_step_takes_none(root, command, state):
    folder = runs.create(CONFIG)
    runs.write_control(folder, command)
    assert work.Worker(folder).work() == 0
    assert state_of(folder) == state
    assert not (folder / "metrics.jsonl").exists()


def test_the_state_is_true_right_after_pause_and_right_after_resume(server):
    folder = runs.create(ENDLESS)
    server.start(folder.name)
    wait_for(lambda: steps_of(folder))
    for _ in range(6):
        runs.pause(folder.name)
        wait_for(lambda: state_of(folder) == "paused")
        server.start(folder.name)
        assert state_of(folder) == "running"
        reached = steps_of(folder)[-1]
        wait_for(lambda reached=reached: steps_of(folder)[-1] > reached)
        assert state_of(folder) == "running"
