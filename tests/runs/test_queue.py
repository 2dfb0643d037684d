"""The dispatcher with stand-ins for workers: whose turn it is, and that nothing in the folder ends its thread."""

import errno
import json
import os
import threading

import pytest

from tests.support.runs import wait_for
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import processes, queue, status
from vit.runs.state import UNREADABLE

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


class StandIn:
    """A worker that takes a run and does nothing until it is told how it ends."""

    def __init__(self):
        self.returncode, self.folder, self.sent_away, self.waits = None, None, False, True
        self.process, self.pid = self, 0

    def poll(self):
        return self.returncode

    def wait(self):
        return 0

    def tell(self, folder):
        self.folder, self.waits = folder, False

    def send_home(self):
        self.returncode = 0

    ending = processes.WorkerProcess.ending

    def make_room(self):
        self.sent_away = True


@pytest.fixture
def spawned(monkeypatch):
    """All stand-ins, in the order in which they were started."""
    started = []

    def spawn(threads, heartbeat):
        started.append(StandIn())
        return started[-1]

    monkeypatch.setattr(processes, "spawn", spawn)
    monkeypatch.setattr(queue, "LOOK_EVERY", 0.01)
    return started


@pytest.fixture
def server(root, spawned):
    dispatcher = queue.Dispatcher(root)
    yield dispatcher
    dispatcher.close()


def looks(server, times=3):
    """Wait until the dispatcher has looked after everything a few times more."""
    seen, original = [], server._keep_warm
    done = threading.Event()

    def counted():
        original()
        seen.append(1)
        if len(seen) >= times:
            done.set()

    server._keep_warm = counted
    server._look_at_all = 0.0
    assert done.wait(60)
    server._keep_warm = original


def taken(spawned):
    return [worker.folder.name for worker in spawned if worker.folder]


def test_the_longest_waiting_go_first_whichever_server_they_came_to(server, spawned, root, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "3")
    runs.heartbeat_of("other-server").touch()
    for name, whose, since in (("c", server.server, 30), ("a", server.server, 20), ("b", "other-server", 20),
                               ("x", "gone-server", 10), ("d", "other-server", 40)):
        folder = runs.create(CONFIG, pair_id=name)
        waits = {"state": "queued", "reason": "", "since": since, "server": whose}
        (folder / "status.json").write_text(json.dumps(waits))
    server._look_at_all = 0.0
    wait_for(lambda: len(taken(spawned)) == 3)
    looks(server)
    assert taken(spawned) == ["a-plain", "b-plain", "c-plain"]
    assert runs.get("x-plain").state == "interrupted"
    runs.heartbeat_of("other-server").unlink()
    assert runs.get("d-plain").state == "queued"  # it waits for us now
    spawned[0].returncode = 1
    wait_for(lambda: taken(spawned)[3:] == ["d-plain"])


def test_one_of_two_servers_acts_and_the_other_when_it_has_gone(server, spawned, root):
    other = queue.Dispatcher(root)
    first, second = (runs.create(CONFIG, pair_id=name) for name in ("first", "second"))
    other.start(first.name)
    wait_for(lambda: taken(spawned) == [first.name])
    assert not other.children
    server.close()
    other.start(second.name)
    wait_for(lambda: second.name in other.children)
    other.close()


def test_workers_are_warm_at_the_server_that_acts_whichever_a_visitor_comes_to(server, spawned, root):
    other = queue.Dispatcher(root)
    other.expect_a_start()
    wait_for(lambda: len(server.place.warm) == min(processes.WARM_WORKERS, runs.max_workers()))
    assert not other.place.warm
    other.close()


def test_a_worker_that_is_killed_before_it_began_fails_its_run(server, spawned):
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: spawned)
    spawned[0].returncode = -9
    wait_for(lambda: runs.get(folder.name).state == "failed")
    assert "SIGKILL" in runs.get(folder.name).reason
    looks(server)
    assert len(spawned) == 1


def test_a_worker_that_dies_early_tells_its_last_words(tmp_path):
    (tmp_path / "worker.log").write_text("Traceback\n  ...\nMemoryError: no room for the images\n")
    assert processes.how_it_ended(1, tmp_path) == (
        "Its worker ended with an error: MemoryError: no room for the images"
    )


def test_a_signal_without_a_name_ends_its_run_and_no_other(server, spawned, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, second = (runs.create(CONFIG, pair_id=name) for name in ("first", "second"))
    server.start(first.name, second.name)
    wait_for(lambda: spawned)
    spawned[0].returncode = -35
    wait_for(lambda: taken(spawned) == [first.name, second.name])
    assert "killed (signal 35)" in runs.get(first.name).reason


@pytest.mark.parametrize("config", ["whole", "damaged"])
def test_a_folder_that_cannot_be_written_is_told_and_holds_nobody_up(server, spawned, monkeypatch, capsys, config):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    shut, sound = (runs.create(CONFIG, pair_id=name) for name in ("shut", "sound"))
    write = status.write_atomically

    def refuse(path, content):
        if path.parent == shut and b"failed" in content:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        write(path, content)

    if config == "damaged":
        (shut / "config.json").write_text("[]")
    with monkeypatch.context() as patched:
        patched.setattr(status, "write_atomically", refuse)
        server.start(shut.name, sound.name)
        if config == "whole":
            wait_for(lambda: taken(spawned) == [shut.name])
            spawned[0].returncode = 1
        wait_for(lambda: sound.name in taken(spawned))
        looks(server)
        assert taken(spawned)[-1] == sound.name  # the other was not tried again
        assert server.problem == ""
        assert server.troubles == {shut.name: "The server cannot go on with it. The server may not write status.json."}
        assert capsys.readouterr().err.count(shut.name) == 1
    server.start(shut.name)
    assert server.troubles == {}


def test_a_run_that_is_resumed_as_its_worker_dies_is_started_again(server, spawned):
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: spawned)
    since = runs.get(folder.name).since
    wait_for(lambda: (server.start(folder.name), runs.get(folder.name).since > since)[1])
    spawned[0].returncode = -9
    wait_for(lambda: len(spawned) == 2)
    assert runs.get(folder.name).state == "queued"


@pytest.mark.parametrize("left_as", ["paused", "stopped"])
def test_a_run_that_is_asked_to_go_on_just_as_its_worker_leaves_is_started_again(server, spawned, left_as):
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: spawned)
    with runs.locked(folder):
        runs.write_status(folder, left_as, server=server.server)
        runs.write_control(folder, "pause" if left_as == "paused" else "stop")
        looks(server)
        server.start(folder.name)  # it sees a worker, and leaves the run to it
        assert runs.get(folder.name).state == ("running" if left_as == "paused" else "queued")
    spawned[0].returncode = 0
    wait_for(lambda: len(spawned) == 2)
    assert runs.get(folder.name).state == "queued"


def test_a_run_that_is_stopped_while_it_waits_is_not_started(server, spawned, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, second, third = (runs.create(CONFIG, pair_id=name) for name in ("first", "second", "third"))
    server.start(first.name, second.name, third.name)
    wait_for(lambda: spawned)
    runs.stop(second.name)
    runs.pause(third.name)
    assert (runs.get(second.name).state, runs.get(third.name).state) == ("stopped", "paused")
    spawned[0].returncode = 1
    wait_for(lambda: not server.children)
    looks(server)
    assert taken(spawned) == [first.name]


def test_no_more_than_so_many_pairs_wait_also_when_they_are_resumed(server, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    monkeypatch.setenv("PATCHWISE_QUEUE", "2")
    many = [runs.create(CONFIG, pair_id=f"pair-{number}").name for number in range(8)]
    refused = []

    def visit(run_id):
        try:
            server.start(run_id)
        except runs.RunError as error:
            refused.append(str(error))

    server.start(many[0])
    wait_for(lambda: server.children)
    visitors = [threading.Thread(target=visit, args=(run_id,)) for run_id in many[1:]]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    # the first is given to a worker that never takes it: it waits still
    assert refused == ["2 pairs wait for their turn already, and more may not wait here. "
                       "Try again when one has begun."] * 6


DAMAGE = ["", "{", "{}", "[]", "null", '{"state": "dancing"}', '{"state": "queued"}', '{"state": 3, "server": []}',
          '{"state": "queued", "since": "yesterday", "server": "SERVER"}', "[" * 20_000]


@pytest.mark.parametrize("text", DAMAGE)
def test_no_damage_in_a_queued_run_holds_the_others_up(server, spawned, text, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, damaged, sound = (runs.create(CONFIG, pair_id=name) for name in ("first", "damaged", "sound"))
    server.start(first.name, damaged.name, sound.name)
    wait_for(lambda: taken(spawned) == [first.name])
    (damaged / "status.json").write_text(text.replace("SERVER", server.server))
    spawned[0].returncode = 1
    wait_for(lambda: sound.name in taken(spawned))
    assert damaged.name not in taken(spawned)
    assert runs.get(damaged.name).state == "interrupted"
    assert runs.get(damaged.name).reason in (UNREADABLE, "The server that it waited for is gone.")
    assert server.problem == ""


def test_a_config_that_cannot_be_used_fails_its_run_in_words(server, spawned):
    damaged, sound = (runs.create(CONFIG, pair_id=name) for name in ("damaged", "sound"))
    (damaged / "config.json").write_text("[]")
    server.start(damaged.name, sound.name)
    wait_for(lambda: taken(spawned) == [sound.name])
    assert runs.read_status(damaged).state == "failed"
    assert "config.json cannot be used" in runs.read_status(damaged).reason


def test_a_folder_of_runs_that_was_deleted_is_made_again(server, spawned, root):
    root.rename(root.with_name("gone"))
    wait_for(server.heartbeat.exists)
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: taken(spawned) == [folder.name])
    assert server.problem == ""


def lead(link, target):
    """Let a link lead elsewhere from one instant to the next."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    os.replace(fresh, link)


def test_what_keeps_it_from_working_is_said_once_and_it_goes_on_when_that_is_mended(
    root, spawned, monkeypatch, capsys
):
    folder, file, link = root / "folder", root / "file", root / "link"
    folder.mkdir()
    file.touch()
    lead(link, folder)
    monkeypatch.setenv("PATCHWISE_RUNS", str(link))
    server = queue.Dispatcher(link)
    lead(link, file)
    wait_for(lambda: server.problem)
    looks_anyway(server)  # the first refusal may have come in the middle of a look, at another file
    said = server.problem
    assert said.startswith("No run can be started at the moment. ")
    assert "Errno" not in said
    assert capsys.readouterr().err.splitlines()[-1] == said
    for _ in range(5):
        looks_anyway(server)
    assert server.problem == said
    assert capsys.readouterr().err == ""
    lead(link, folder)
    wait_for(lambda: not server.problem)
    assert capsys.readouterr().err.splitlines() == ["Runs can be started again."]
    run = runs.create(CONFIG)
    server.start(run.name)
    wait_for(lambda: taken(spawned) == [run.name])
    server.close()


def looks_anyway(server):
    """Wait until the dispatcher has tried once more, in vain: a whole look lies between two beginnings."""
    begun = threading.Semaphore(0)
    original = server._beat

    def beat():
        begun.release()
        original()

    server._beat = beat
    for _ in range(2):
        assert begun.acquire(timeout=60)
    server._beat = original


def test_a_server_starts_where_it_may_not_write_and_says_so(root, spawned, monkeypatch):
    (root / "file").touch()
    monkeypatch.setenv("PATCHWISE_RUNS", str(root / "file"))
    server = queue.dispatcher()
    assert server.problem
    server.expect_a_start()
    server.close()


def test_whatever_goes_wrong_inside_does_not_end_the_thread(server, spawned, monkeypatch):
    def stumble():
        raise KeyError("state")

    with monkeypatch.context() as broken:
        broken.setattr(server, "_reap", stumble)
        wait_for(lambda: server.problem)
    wait_for(lambda: not server.problem)
    folder = runs.create(CONFIG)
    server.start(folder.name)
    wait_for(lambda: taken(spawned) == [folder.name])


def test_a_pausing_worker_makes_room(server, spawned, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    first, second = (runs.create(CONFIG, pair_id=name) for name in ("first", "second"))
    server.start(first.name)
    wait_for(lambda: spawned)
    with runs.locked(first):
        runs.write_control(first, "pause")
        runs.write_status(first, "paused", server=server.server)
        server.start(second.name)
        wait_for(lambda: spawned[0].sent_away)
    spawned[0].returncode = 0
    wait_for(lambda: taken(spawned) == [first.name, second.name])
    assert runs.get(first.name).state == "paused"
