"""Several servers that share one folder of runs: real processes, each with a dispatcher of its own."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.support.runs import wait_for
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs.names import pair_of
from vit.runs.places import where
from vit.runs.status import PROJECT

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=1600, epochs=4,
                     batch_size=16, validation_images=100)

SERVER = """
import sys
from vit.runs.queue import dispatcher
server = dispatcher()
print("ready", flush=True)
sys.stdin.readline()
server.start(*sys.argv[1:])
sys.stdin.read()
server.close()
"""


@pytest.fixture
def serve():
    """Starts a server that begins the runs it is given once it is told to."""
    started = []

    def start(*run_ids):
        server = subprocess.Popen([sys.executable, "-c", SERVER, *run_ids], cwd=PROJECT, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        started.append(server)
        assert server.stdout.readline() == "ready\n"
        return server

    yield start
    for server in started:
        server.kill()
        server.wait()
    wait_for(lambda: not runs.busy())


def begin(server):
    server.stdin.write("go\n")
    server.stdin.flush()


def test_servers_that_share_a_folder_let_no_more_train_than_may_and_split_no_pair(serve, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "2")
    pairs = [[runs.create(replace(CONFIG, flips=flips), pair_id=pair).name for flips in (False, True)]
             for pair in ("first", "second")]
    servers = [serve(*pair) for pair in pairs]
    for server in servers:
        begin(server)
    together = []  # who was seen training at the same time

    def all_done():
        together.append(runs.busy())
        return all(runs.get(run_id).state == "done" for pair in pairs for run_id in pair)

    wait_for(all_done)
    assert max(map(len, together)) == 2
    first_two = next(busy for busy in together if len(busy) == 2)
    assert len({pair_of(run_id) for run_id in first_two}) == 1


def test_when_the_server_that_acts_is_killed_another_goes_on_with_what_waits(serve, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    training, waiting = (runs.create(replace(CONFIG, epochs=1000), pair_id=name) for name in ("training", "waiting"))
    first = serve(training.name, waiting.name)
    second = serve()
    begin(first)
    wait_for(lambda: runs.get(training.name).state == "running")
    assert where(runs.get(training.name)) == "here"
    first.kill()
    wait_for(lambda: runs.get(waiting.name).state == "running")
    assert runs.get(training.name).state == "interrupted"
    runs.stop(waiting.name)
    wait_for(lambda: runs.get(waiting.name).state == "stopped")
    second.kill()
