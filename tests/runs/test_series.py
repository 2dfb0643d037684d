"""Runs that belong together: which they are, what came out, and that a series is there as a whole or not at all."""

import json
from dataclasses import replace

import pytest

from tests.support.verdicts import verdict
from vit import reports, runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import folder as folders
from vit.runs import names, queue, series
from vit.studies.statistics import estimate, paired_differences
from vit.training import NO_NUMBER

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)
ARMS = {"with warm-up": CONFIG, "without": replace(CONFIG, warmup_steps=0)}


@pytest.fixture(autouse=True)
def nobody_works(monkeypatch):
    """A dispatcher that lets runs wait and starts none."""
    monkeypatch.setattr(queue.Dispatcher, "_start_waiting", lambda self: None)
    yield
    queue.dispatcher().close()


def end(run, accuracy=1.0, state="done", reason=""):
    """As a worker leaves it: with so many of 1,000 images read."""
    wrong = list(range(round(1000 * (1 - accuracy))))
    (run.folder / "metrics.jsonl").write_bytes(reports.to_line(verdict(wrong, whole=True)))
    runs.write_status(run.folder, state, reason)


def test_each_arm_waits_with_each_seed_and_pairs_are_complete_early():
    name = series.create(ARMS, [3, 1], topic="warm-up", preset="quick")
    found = series.read(name)
    assert [(run.config.seed, run.role.arm) for run in found.runs] == [
        (1, "with warm-up"), (1, "without"), (3, "with warm-up"), (3, "without")]
    assert (found.arms, found.seeds, found.topic) == (["with warm-up", "without"], [1, 3], "warm-up")
    assert [run_id for _, run_id, _ in runs.waiting()] == [run.id for run in found.runs]
    assert found.moving
    for run in found.runs:
        assert run.config == replace(ARMS[run.role.arm], seed=run.config.seed)
        assert run.preset == "quick"
    assert {run.pair for run in found.runs} == {names.of_seed(name, seed) for seed in (1, 3)}
    assert [run.role.side for run in runs.pair(names.of_seed(name, 3))] == [0, 1]


def test_what_came_out_is_paired_by_seed_as_the_statistics_want_it():
    found = series.read(series.create(ARMS, [0, 1, 2]))
    for run in found.runs[:4]:
        end(run, accuracy=0.9 + 0.01 * run.config.seed if run.role.side == 0 else 0.8)
    runs.write_status(found.runs[4].folder, "stopped")
    values = series.read(found.id).values()
    assert values == {"with warm-up": pytest.approx({0: 90.0, 1: 91.0}), "without": pytest.approx({0: 80.0, 1: 80.0})}
    judged = estimate(list(paired_differences(values["with warm-up"], values["without"]).values()))
    assert judged.mean == pytest.approx(10.5)
    assert series.read(found.id).ended == 5


def test_a_run_that_diverged_counts_with_its_last_validation_and_one_that_failed_does_not():
    found = series.read(series.create(ARMS, [0]))
    first, second = found.runs
    end(first, 0.1, "failed", f"The loss {NO_NUMBER} after step 7.")
    end(second, 0.5, "failed", "The disk is full.")
    assert series.read(found.id).values() == {"with warm-up": pytest.approx({0: 10.0}), "without": {}}


def test_more_seeds_may_join_and_none_twice():
    name = series.create(ARMS, [0])
    assert series.create(ARMS, [1, 2], series_id=name) == name
    assert series.read(name).seeds == [0, 1, 2]
    with pytest.raises(runs.RunError, match="Seed 2 is in this series already"):
        series.create(ARMS, [2, 3], series_id=name)
    assert series.read(name).seeds == [0, 1, 2]


@pytest.mark.parametrize(("variable", "value", "sentence"), [
    ("PATCHWISE_QUEUE", "3", "room for 3 more of the 3 pairs that may wait here, and this would be 4"),
    ("PATCHWISE_RUNS_MB", "0", "Delete old runs to make room"),
])
def test_what_does_not_fit_is_refused_in_a_sentence_and_leaves_nothing(root, monkeypatch, variable, value, sentence):
    monkeypatch.setenv(variable, value)
    with pytest.raises(runs.RunError, match=sentence):
        series.create(ARMS, range(4))
    assert runs.list_runs() == []
    assert not [folder for folder in root.iterdir() if not folder.name.startswith(".")]


def test_a_start_that_fails_on_the_way_leaves_nothing(monkeypatch):
    resume, resumed = folders.resume, []

    def refuse(run_id, *arguments):
        resumed.append(run_id)
        if len(resumed) > 2:
            raise runs.RunError("8 pairs wait for their turn already.")
        resume(run_id, *arguments)

    monkeypatch.setattr(folders, "resume", refuse)
    with pytest.raises(runs.RunError, match="8 pairs wait"):
        series.create(ARMS, range(2))
    assert runs.list_runs() == []


@pytest.mark.parametrize(("arms", "seeds"), [({}, [1]), (ARMS, []), ({"a" * 90: CONFIG}, [1])])
def test_a_series_of_nothing_or_of_endless_names_is_refused(arms, seeds):
    with pytest.raises(runs.RunError):
        series.create(arms, seeds)
    assert runs.list_runs() == []


def test_there_is_room_for_as_many_seeds_as_pairs_may_wait(monkeypatch):
    monkeypatch.setenv("PATCHWISE_QUEUE", "5")
    series.create(ARMS, [0, 1])
    assert runs.room_in_queue() == 3
    series.create(ARMS, [2, 3, 4])
    assert runs.room_in_queue() == 0


def test_stopping_leaves_what_is_done_and_the_rest_can_go_on():
    found = series.read(series.create(ARMS, [0, 1]))
    end(found.runs[0])
    series.stop(found.id)
    assert [run.state for run in series.read(found.id).runs] == ["done", "stopped", "stopped", "stopped"]
    assert not series.read(found.id).moving
    series.resume(found.id)
    assert [run.state for run in series.read(found.id).runs] == ["done", "queued", "queued", "queued"]


def test_a_folder_that_cannot_be_read_is_a_line_and_goes_with_the_others(root):
    found = series.read(series.create(ARMS, [0, 1]))
    damaged = found.runs[1]
    (damaged.folder / "config.json").write_text("{")
    again = series.read(found.id)
    assert len(again.runs) == 3
    assert [name for name, _ in again.faults] == [damaged.id]
    assert "config.json" in again.faults[0][1]
    assert again.values()["without"] == {}
    series.delete(found.id)
    assert series.read(found.id) is None
    assert runs.everything() == ([], [])
    with pytest.raises(FileNotFoundError, match="There is no series"):
        series.delete(found.id)


@pytest.mark.parametrize("role", [
    [], {"arm": 3}, {"arm": 3, "side": 0, "topic": ""}, {"arm": "x" * 99, "side": 0, "topic": ""},
    {"arm": "a", "side": -1, "topic": ""}, {"arm": "a", "side": 0, "topic": "", "series": None},
])
def test_a_strange_role_makes_a_run_unreadable_in_a_sentence(role):
    folder = runs.create(CONFIG)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"role": role}))
    with pytest.raises(runs.Unreadable, match=r"Its config\.json cannot be used"):
        runs.read_run(folder)


def test_series_are_found_by_their_topic_newest_first():
    older, newer = (series.create(ARMS, [seed], topic="warm-up") for seed in (0, 1))
    series.create(ARMS, [0], topic="another")
    runs.create_twins(CONFIG)
    assert series.find("warm-up") == [newer, older]


@pytest.mark.parametrize("name", ["", "../x", "no-such-series", "x" * 200])
def test_a_name_that_means_no_series_finds_none(name):
    assert series.read(name) is None


@pytest.mark.parametrize(("run_id", "pair"), [
    ("20261118-012345-ab12-plain", "20261118-012345-ab12"), ("20261118-012345-ab12-no-mask", "20261118-012345-ab12"),
    ("20261118-012345-ab12-s7-plain", "20261118-012345-ab12-s7"), ("long", "long"), ("my-run-flips", "my-run"),
])
def test_a_pair_is_told_from_the_name_of_its_run(run_id, pair):
    assert names.pair_of(run_id) == pair


@pytest.mark.parametrize(("run_id", "short"), [
    ("20261118-012345-ab12-plain", "ab12 · plain"), ("20261118-012345-ab12-s7-no-mask", "ab12-s7 · no-mask"),
    ("long", "long"),
])
def test_a_short_name_tells_twins_apart(run_id, short):
    assert names.in_short(run_id) == short


def test_arms_whose_names_begin_alike_have_folders_of_their_own():
    arms = {f"a name that is far too long for a folder, {end}": CONFIG for end in "ab"}
    found = series.read(series.create(arms, [0]))
    assert found.arms == list(arms)
    assert len({run.id for run in found.runs}) == 2
