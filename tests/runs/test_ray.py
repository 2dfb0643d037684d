"""Runs on a real Ray cluster of two nodes. It takes minutes to start on a busy machine, and is no part of CI."""

from dataclasses import replace

import pytest

from tests.support.ray import HEAD, SECOND, cluster, is_installed
from tests.support.runs import metrics_without_time, state_of, steps_of, wait_for
from vit import checkpoints, runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import queue
from vit.runs.places import read_ray_record, where

pytestmark = pytest.mark.skipif(not is_installed(), reason="Ray is not installed: pip install -r requirements-ray.txt")

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=1600, epochs=60,
                     batch_size=16, validate_every=500, validation_images=100, report_every=5)
ENDLESS = replace(CONFIG, epochs=1_000)


@pytest.fixture(scope="module")
def nodes():
    with cluster() as found:
        yield found


@pytest.fixture
def server(root, nodes, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RAY", nodes.address)
    monkeypatch.setenv("PATCHWISE_WORKERS", "2")
    found = queue.Dispatcher(root)
    yield found
    for run in runs.list_runs():
        runs.stop(run.id)
    wait_for(lambda: not runs.busy())
    found.close()


def test_pause_stop_queue_and_place_in_the_queue_are_as_on_one_machine(server, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, second = (runs.create(ENDLESS, pair_id=name) for name in ("first", "second"))
    server.start(first.name, second.name)
    wait_for(lambda: steps_of(first))
    assert runs.place_in_queue(runs.read_run(second)) == 1
    runs.pause(first.name)
    wait_for(lambda: state_of(second) == "running")  # who pauses makes room
    assert state_of(first) == "paused"
    server.start(first.name)
    assert state_of(first) == "queued"
    reached = steps_of(first)[-1]
    runs.stop(second.name)
    wait_for(lambda: state_of(second) == "stopped" and steps_of(first)[-1] > reached)
    assert read_ray_record(first)["attempt"] == 2


def test_a_run_goes_on_when_another_server_takes_over(server, root):
    folder = runs.create(ENDLESS)
    server.start(folder.name)
    wait_for(lambda: steps_of(folder))
    other = queue.Dispatcher(root)
    server.close()
    wait_for(lambda: folder.name in other.children)
    reached = steps_of(folder)[-1]
    wait_for(lambda: steps_of(folder)[-1] > reached)
    assert read_ray_record(folder)["attempt"] == 1
    runs.stop(folder.name)
    wait_for(lambda: state_of(folder) == "stopped" and not other.children)
    other.close()


def test_a_run_whose_node_is_lost_goes_on_elsewhere_with_the_metrics_of_an_undisturbed_one(server, nodes):
    folders = [runs.create(CONFIG, pair_id=name) for name in ("one", "other")]
    server.start(*(folder.name for folder in folders))
    both = {f"on Ray node {HEAD}", f"on Ray node {SECOND}"}
    wait_for(lambda: {where(runs.read_run(folder)) for folder in folders} == both)
    undisturbed, lost = sorted(folders, key=lambda folder: where(runs.read_run(folder)))
    wait_for(lambda: len(steps_of(lost)) > 10)
    runs.pause(lost.name)
    wait_for(lambda: state_of(lost) == "paused")
    at_pause = steps_of(lost)[-1]
    server.start(lost.name)
    wait_for(lambda: steps_of(lost)[-1] > at_pause + 20)
    nodes.kill_node(SECOND)
    wait_for(lambda: state_of(undisturbed) == state_of(lost) == "done")
    assert read_ray_record(lost) | {"given": 0} == {"attempt": 2, "given": 0, "node": HEAD}
    assert metrics_without_time(lost) == metrics_without_time(undisturbed)
    ours, theirs = (checkpoints.read_tensors(runs.checkpoint_path(folder.name, f"epoch-{CONFIG.epochs:04d}"))[0]
                    for folder in (lost, undisturbed))
    assert all(ours[name].equal(theirs[name]) for name in theirs)
