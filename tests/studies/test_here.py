"""A visitor's own runs, told as recorded ones are."""

from dataclasses import replace

import pytest

from tests.support.studies import run_of
from tests.support.verdicts import training_line, verdict
from vit import reports, runs
from vit.runs import series
from vit.runs.folder import LONGEST_WORD
from vit.studies import here
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import findings_of
from vit.studies.study import Study

POSITIONS = CATALOGUE["positions"]
SETTING = POSITIONS.settings[0]
STUDIES = [study for study in CATALOGUE.values() if isinstance(study, Study)]


@pytest.fixture
def made(root, monkeypatch):
    """Folders of all arms with two seeds, which nobody trains."""
    monkeypatch.setattr(series.dispatcher(), "start", lambda *run_ids: None)
    name = series.create(here.arms_of(POSITIONS, SETTING), [5, 6], topic=here.topic_of(POSITIONS, SETTING))
    yield name
    series.dispatcher().close()


def write(run, *lines, state="done", reason=""):
    (run.folder / "metrics.jsonl").write_bytes(b"".join(map(reports.to_line, lines)))
    runs.write_status(run.folder, state, reason)


def test_runs_are_told_as_they_are(made):
    found = series.read(made)
    for number, run in enumerate(found.runs):
        write(run, training_line(90), verdict(range(10 * number), step=100))
    told = here.runs_of(SETTING.name, found := series.read(made))
    assert [(run.arm, run.seed) for run in told] == [(arm.name, seed) for seed in (5, 6) for arm in POSITIONS.arms]
    assert [run.measures["accuracy"] for run in told] == pytest.approx([100, 99, 98, 97, 96, 95])
    assert {run.ended for run in told} == {"done"}
    findings = findings_of(POSITIONS, told)
    assert findings[0].values == pytest.approx([2, 2])
    assert here.share_done(found) == 1


def test_a_run_that_still_trains_is_told_but_not_counted(made):
    first, second, third, *others = series.read(made).runs
    write(first, verdict([], step=0), state="queued")
    write(second, verdict([], step=0), verdict(range(500), step=100), state="queued")
    write(third, verdict([], step=100), state="failed", reason="The loss is no longer a number after step 100.")
    for run in others:
        write(run, state="failed", reason="The disk is full.")
    told = here.runs_of(SETTING.name, series.read(made))
    assert [(run.arm, run.ended) for run in told] == [("sines", here.TRAINING), ("none", "diverged")]
    assert [run.arm for run in here.ended(told)] == ["none"]
    assert 0 < here.share_done(series.read(made)) < 1


def test_seeds_are_new_or_those_that_are_recorded():
    assert here.seeds_to_try([0, 1, 2], [], new=True, many=2) == [3, 4]
    assert here.seeds_to_try([0, 1, 2], [3, 4], new=True, many=2) == [5, 6]
    assert here.seeds_to_try([], [], new=True, many=2) == [0, 1]
    assert here.seeds_to_try([0, 1, 2], [], new=False, many=2) == [0, 1]
    assert here.seeds_to_try([0, 1, 2], [0, 1], new=False, many=2) == [2]
    assert here.seeds_to_try([0, 1], [0, 1], new=False, many=2) == [0, 1]


def test_runs_with_recorded_seeds_say_whether_they_repeat():
    recorded = [run_of("MNIST", "a", seed, 90.0 + seed) for seed in range(2)]
    assert here.repeats(recorded, [run_of("MNIST", "a", 7, 90.0)]) == ""
    assert here.repeats(recorded, recorded).startswith("2 runs with recorded seeds: every accuracy comes out")
    off = [recorded[0], run_of("MNIST", "a", 1, 91.5), replace(recorded[1], arm="b")]
    assert here.repeats(recorded, off) == ("1 of 2 accuracies come out as recorded, to the last digit; the others are "
                                           "at most 0.50 points off.")
    assert here.repeats(recorded, [replace(recorded[0], ended=here.TRAINING)]) == ""


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_every_setting_is_found_by_a_topic_of_its_own(study):
    topics = [f"{study.id}: {setting.name}" for setting in study.settings]
    assert [here.topic_of(study, setting) for setting in study.settings] == topics
    assert all(len(topic) <= LONGEST_WORD for topic in topics)
