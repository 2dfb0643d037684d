"""Who may do what with a run, how a deletion is taken back, and how much one visitor may have waiting."""

import json
import os
import shutil
import threading
import time
from dataclasses import replace

import pytest

from tests.support.runs import wait_for
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import asking, deleted, limits, owners, series
from vit.runs.owners import Visitor, mark_of, why_not
from vit.runs.queue import Dispatcher

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)
ARMS = {"short": CONFIG, "long": replace(CONFIG, epochs=3)}
A, B = Visitor(mark_of("a's secret")), Visitor(mark_of("b's secret"))
TEACHER = replace(B, teacher=True)


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    monkeypatch.setattr(owners, "_pause", lambda seconds: None)


@pytest.fixture
def server():
    """A server that is alive, and starts nothing."""
    heartbeat = runs.heartbeat_of("server")
    heartbeat.parent.mkdir()
    heartbeat.touch()


def pair_of(visitor: Visitor, config=CONFIG) -> str:
    return runs.create_pair({"one": config, "two": replace(config, epochs=3)}, owner=visitor.mark)


def ids(pair: str) -> list[str]:
    return [run.id for run in runs.pair(pair)]


# Who may


@pytest.mark.parametrize("key_is_set", [False, True])
@pytest.mark.parametrize("teacher", [False, True])
@pytest.mark.parametrize("owner", ["", A.mark, B.mark])
def test_own_runs_are_controlled_and_all_of_them_with_the_key_or_where_there_is_none(owner, teacher, key_is_set):
    said = why_not(owner, A.mark, teacher, key_is_set)
    allowed = {
        # key is set, teacher: whose runs may be controlled
        (False, False): {"", A.mark, B.mark},
        (False, True): {"", A.mark, B.mark},
        (True, False): {A.mark},
        (True, True): {"", A.mark, B.mark},
    }[key_is_set, teacher]
    assert (said == "") == (owner in allowed)
    if said:
        assert "the teacher's key" in said
        assert ("Another visitor" in said) == bool(owner)


def test_a_visitor_without_a_mark_owns_nobody_s_runs(key):
    assert Visitor("").refusal("")


def test_a_folder_keeps_a_hash_that_gives_nobody_the_right(root):
    folder = runs.create(CONFIG, owner=A.mark)
    assert runs.read_run(folder).owner == runs.owner_of(folder.name) == A.mark
    assert not any(b"a's secret" in path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert mark_of(A.mark) != A.mark


@pytest.mark.parametrize("recorded", [7, "", "me", None, ["x"], A.mark.upper(), A.mark + "0"])
def test_an_owner_that_cannot_be_one_is_nobody(key, recorded):
    folder = runs.create(CONFIG, owner=A.mark)
    content = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(content | {"owner": recorded}))
    assert runs.read_run(folder).owner == runs.owner_of(folder.name) == ""
    with pytest.raises(runs.RunError, match="No visitor of these pages started this"):
        asking.check(A, folder.name)


@pytest.mark.parametrize("run_id", ["", "..", "../x", "no-such-run", "*"])
def test_what_is_no_run_has_no_owner(root, run_id):
    assert runs.owner_of(run_id) == ""


@pytest.mark.parametrize("run_id", ["", "..", "no-such-run"])
def test_what_is_asked_of_a_run_that_is_gone_gets_a_sentence(key, root, run_id):
    with pytest.raises(FileNotFoundError, match="it may have been deleted"):
        runs.ask(A, runs.stop, run_id)


def test_what_one_may_not_is_done_to_none_of_them(key, root):
    ours, theirs = runs.create(CONFIG, pair_id="a", owner=A.mark), runs.create(CONFIG, pair_id="b", owner=B.mark)
    with pytest.raises(runs.RunError, match="Another visitor started this"):
        runs.ask(A, runs.pause, ours.name, theirs.name)
    assert runs.read_control(ours) == runs.read_control(theirs) == "run"
    runs.ask(A, runs.pause, ours.name)
    runs.ask(TEACHER, runs.stop, ours.name, theirs.name)
    assert runs.read_control(ours) == runs.read_control(theirs) == "stop"


def test_without_a_key_everybody_controls_every_run():
    folder = runs.create(CONFIG, owner=B.mark)
    runs.ask(A, runs.stop, folder.name)
    assert runs.read_control(folder) == "stop"


def test_a_series_of_another_visitor_goes_on(key, monkeypatch):
    monkeypatch.setattr(Dispatcher, "_start_waiting", lambda self: None)
    name = series.create(ARMS, [0, 1], owner=A.mark)
    try:
        with pytest.raises(runs.RunError, match="Another visitor started this"):
            series.stop(name, by=B)
        assert {run.state for run in series.read(name).runs} == {"queued"}
        series.stop(name, by=A)
        assert {run.state for run in series.read(name).runs} == {"stopped"}
        with pytest.raises(runs.RunError, match="Another visitor started this"):
            series.resume(name, by=B)
        assert {run.state for run in series.read(name).runs} == {"stopped"}
        series.resume(name, by=TEACHER)
        assert {run.state for run in series.read(name).runs} == {"queued"}
    finally:
        series.dispatcher().close()


# The teacher's key


def test_the_key_gives_a_pass_that_only_this_browser_can_use(key):
    given = owners.enter_key(" chalk ", A.mark)
    assert owners.is_pass(given, A.mark)
    assert not owners.is_pass(given, B.mark)
    assert not owners.is_pass("", A.mark)
    assert not owners.is_pass("chalk", A.mark)


def test_another_key_ends_all_passes(key, monkeypatch):
    given = owners.enter_key("chalk", A.mark)
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "cheese")
    assert not owners.is_pass(given, A.mark)
    monkeypatch.delenv("PATCHWISE_TEACHER_KEY")
    assert not owners.is_pass(given, A.mark)


@pytest.mark.parametrize("entered", ["", "Chalk", "chal", "chalk!", "é" * 10_000, "\ud800"])
def test_what_is_not_the_key_gets_a_sentence(key, entered):
    with pytest.raises(PermissionError, match="That is not the teacher's key"):
        owners.enter_key(entered, A.mark)


@pytest.mark.parametrize("unset", ["", "  "])
def test_where_no_key_is_set_an_empty_one_is_none(key, monkeypatch, unset):
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", unset)
    assert not owners.key_is_set()
    with pytest.raises(PermissionError):
        owners.enter_key(unset, A.mark)


def test_who_guesses_waits_for_all_others_who_guess_and_few_may_wait(key, monkeypatch):
    """Many sessions at once do not guess more often than one."""
    at_once, most, enough, told = [], [], threading.Event(), []

    def pause(_seconds):
        at_once.append(1)
        most.append(len(at_once))
        enough.wait(60)
        at_once.pop()

    def guess():
        try:
            owners.enter_key("a guess", A.mark)
        except PermissionError as error:
            told.append(str(error))

    with monkeypatch.context() as patched:
        patched.setattr(owners, "_pause", pause)
        many = [threading.Thread(target=guess) for _ in range(owners.MOST_TRIES_WAITING)]
        for one in many:
            one.start()
        wait_for(lambda: owners._room_to_wait._value == 0)
        guess()
        assert told == [owners.TOO_MANY_TRIES]
        enough.set()
        for one in many:
            one.join(60)
    assert max(most) == 1
    assert told[1:] == [owners.WRONG_KEY] * owners.MOST_TRIES_WAITING
    owners.enter_key("chalk", A.mark)  # there is room again


# Deleting, and taking it back


def test_what_is_deleted_is_gone_for_others_and_comes_back_as_it_was(key):
    pair = pair_of(A)
    before = {run.id: (run.folder / "config.json").read_bytes() for run in runs.pair(pair)}
    deleted.set_aside(A, ids(pair))
    assert runs.everything() == ([], [])
    assert runs.pair(pair) == []
    with pytest.raises(FileNotFoundError):
        runs.folder_of(next(iter(before)))
    assert deleted.to_take_back(B) == deleted.to_take_back(TEACHER) == []
    deleted.take_back(B)
    assert runs.list_runs() == []
    deleted.take_back(A)
    assert {run.id: (run.folder / "config.json").read_bytes() for run in runs.pair(pair)} == before
    assert {run.state for run in runs.pair(pair)} == {"stopped"}
    assert deleted.to_take_back(A) == []


def test_nobody_deletes_what_is_not_theirs(key):
    pair = pair_of(A)
    with pytest.raises(runs.RunError, match="Another visitor started this"):
        deleted.set_aside(B, ids(pair))
    assert len(runs.pair(pair)) == 2
    deleted.set_aside(TEACHER, ids(pair))
    assert runs.pair(pair) == []


def wait_a_minute(monkeypatch):
    now = time.time
    monkeypatch.setattr(deleted.time, "time", lambda: now() + deleted.KEPT_FOR + 1)


def test_after_a_minute_a_server_erases_it_also_one_that_was_started_since(root, monkeypatch):
    pair = pair_of(A)
    deleted.set_aside(A, ids(pair))
    deleted.erase_old()
    assert deleted.size() > 0
    wait_a_minute(monkeypatch)
    assert deleted.to_take_back(A) == []
    Dispatcher(root).close()  # looks after everything once, before its thread begins
    assert list((root / ".deleted").iterdir()) == []


def test_what_is_being_erased_cannot_be_taken_back_half(root, monkeypatch):
    pair = pair_of(A)
    deleted.set_aside(A, ids(pair))
    found = deleted.to_take_back(A)
    with monkeypatch.context() as later:
        wait_a_minute(later)
        later.setattr(shutil, "rmtree", lambda *_, **__: None)  # it only begins
        deleted.erase_old()
    monkeypatch.setattr(deleted, "to_take_back", lambda visitor: found)
    with pytest.raises(runs.RunError, match="The minute was over"):
        deleted.take_back(A)
    assert runs.everything() == ([], [])
    deleted.erase_old()  # what a server that was killed had begun
    assert list((root / ".deleted").iterdir()) == []


def test_a_clock_that_was_set_back_keeps_nothing_for_hours(root, monkeypatch):
    deleted.set_aside(A, [runs.create(CONFIG).name])
    now = time.time
    monkeypatch.setattr(deleted.time, "time", lambda: now() - 3600)
    deleted.erase_old()
    assert list((root / ".deleted").iterdir()) == []


@pytest.mark.parametrize("name", ["x", "12.me.run", f"1.{A.mark}.", f"1.{A.mark}...x", f"9999999999999.{A.mark}.x"])
def test_what_else_lies_there_harms_nobody(root, name):
    pair = pair_of(A)
    deleted.set_aside(A, ids(pair))
    (root / ".deleted" / name).mkdir()
    deleted.erase_old()
    assert len(deleted.to_take_back(A)) == 2
    deleted.take_back(A)
    assert len(runs.pair(pair)) == 2


def test_a_damaged_folder_can_be_deleted_and_taken_back(root):
    folder = runs.create(CONFIG, owner=A.mark)
    (folder / "config.json").write_text("{")
    deleted.set_aside(A, [folder.name])
    assert runs.everything() == ([], [])
    deleted.take_back(A)
    assert [name for name, _ in runs.unreadable()] == [folder.name]


def test_where_nothing_may_be_moved_the_run_stays_and_a_sentence_says_why(root, monkeypatch):
    folder = runs.create(CONFIG)

    def refuse(*_):
        raise PermissionError(13, "no", str(folder))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(runs.RunError, match=r"could not be deleted\. The server may not write"):
        deleted.set_aside(A, [folder.name])
    assert len(runs.list_runs()) == 1


def test_the_disk_counts_what_is_set_aside_and_says_when_it_is_free(monkeypatch):
    folder = runs.create(CONFIG)
    (folder / "large").write_bytes(bytes(9_900_000))
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "10")
    with pytest.raises(runs.RunError, match="Delete old runs"):
        pair_of(A)
    deleted.set_aside(A, [folder.name])
    assert runs.disk_used() > 9_900_000
    with pytest.raises(runs.RunError, match=r"10 of 10 MB\. 10 MB of that were deleted and are free within a minute"):
        pair_of(A)
    wait_a_minute(monkeypatch)
    deleted.erase_old()
    assert len(runs.pair(pair_of(A))) == 2


# How much one visitor may have


def queue(pair: str) -> None:
    for run_id in ids(pair):
        runs.resume(run_id, "server")


@pytest.mark.parametrize(("variables", "each"), [
    ({}, 8), ({"PATCHWISE_TEACHER_KEY": "chalk"}, 4), ({"PATCHWISE_QUEUE_EACH": "3"}, 3),
    ({"PATCHWISE_QUEUE_EACH": "99"}, 8), ({"PATCHWISE_QUEUE_EACH": "0"}, 1), ({"PATCHWISE_QUEUE": "1"}, 1),
    ({"PATCHWISE_TEACHER_KEY": "chalk", "PATCHWISE_QUEUE": "1"}, 1),
])
def test_one_visitor_has_half_of_the_queue_where_there_is_a_teacher(monkeypatch, variables, each):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert runs.max_waiting_each() == each


def test_one_visitor_leaves_room_for_others(server, monkeypatch):
    monkeypatch.setenv("PATCHWISE_QUEUE", "4")
    monkeypatch.setenv("PATCHWISE_QUEUE_EACH", "2")
    for seed in (0, 1):
        queue(pair_of(A, replace(CONFIG, seed=seed)))
    assert (runs.room_in_queue(A.mark), runs.room_in_queue(B.mark), runs.room_in_queue()) == (0, 2, 2)
    with pytest.raises(runs.RunError, match=r"One visitor may have 2 pairs waiting here\. 2 wait already\. Try again"):
        pair_of(A)
    queue(pair_of(B))
    with pytest.raises(runs.RunError, match=r"1 waits already, and this would be 2 more\. Ask for fewer seeds\."):
        limits.check_share(1, 2)
    with pytest.raises(runs.RunError, match=r"None wait already, and this would be 3 more\. Ask for fewer seeds\."):
        limits.check_share(0, 3)
    assert len({run.pair for run in runs.list_runs()}) == 3


def test_tabs_that_start_at_once_have_no_more_room_than_one(root, monkeypatch):
    """Each found room when it made its folders; whoever comes second to the queue is refused there."""
    monkeypatch.setenv("PATCHWISE_QUEUE_EACH", "1")
    monkeypatch.setattr(Dispatcher, "_start_waiting", lambda self: None)
    first, second = pair_of(A), pair_of(A)
    server = Dispatcher(root)
    try:
        server.start(*ids(first))
        with pytest.raises(runs.RunError, match="One visitor may have 1 pair waiting here"):
            server.start(*ids(second))
        server.start(*ids(first))  # what waits already is not counted twice
        assert {pair for _, pair, _ in runs.waiting()} == set(ids(first))
    finally:
        server.close()


def test_a_host_can_bound_the_size_of_models(monkeypatch):
    monkeypatch.setattr(limits, "_machine_memory", lambda: 8e9)
    monkeypatch.setenv("PATCHWISE_WORKERS", "2")
    assert runs.pair_memory() <= 8e9
    pair_of(A)
    monkeypatch.setenv("PATCHWISE_PAIR_MB", "500")
    assert runs.pair_memory() == 500e6
    with pytest.raises(runs.RunError, match=r"0\.5 GB is the most that a pair may take here\. A smaller width"):
        pair_of(A)
