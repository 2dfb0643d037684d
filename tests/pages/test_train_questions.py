"""What twins are asked, whether it was luck, and what was recorded before: on the page, without a browser."""

import json

import pytest

from tests.support.recorded import write_flips
from tests.support.train_page import CONFIG, html, words
from tests.support.verdicts import verdict_of
from vit import data, reports, runs
from vit.runs import queue, series
from vit.studies import results
from vit.studies.catalogue import CATALOGUE
from vit.studies.questions import QUESTIONS
from vit.ui.panels.train import setup

pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def nobody_works(monkeypatch):
    """Runs wait, and none begins."""
    monkeypatch.setattr(queue.Dispatcher, "_start_waiting", lambda self: None)


def finish(run, mistakes, **more):
    """As a worker leaves it: so many of 200 validation images are wrong, each taken for the next digit."""
    _, labels, glance = data.load_validation("mnist", CONFIG.validation_images)
    labels = labels[glance]
    answers = labels.copy()
    answers[:mistakes] = (labels[:mistakes] + 1) % 10
    lines = [verdict_of(answers, labels, step=20, whole=True, **more)]
    (run.folder / "metrics.jsonl").write_bytes(b"".join(map(reports.to_line, lines)))
    runs.write_status(run.folder, "done")


def ended(question: str, **more) -> str:
    pair = runs.create_pair(QUESTIONS[question].arms(CONFIG), "quick", question)
    for run in runs.pair(pair):
        finish(run, 20 * run.role.side, **more)
    return pair


# Questions


def test_flips_are_asked_first_and_another_question_starts_other_twins(open_app, nobody_works):
    visitor = open_app("train")
    assert visitor.selectbox(key="train_question").value == "flips"
    assert "half of the images mirrored" in words(visitor)
    visitor.selectbox(key="train_question").set_value("warm-up").run()
    assert "One of them begins with small steps" in words(visitor)
    visitor.button(key="train_start").click().run()
    assert not visitor.exception
    first, second = runs.pair(visitor.session_state.train_pair)
    assert (first.role.arm, second.role.arm, first.role.topic) == ("with warm-up", "without warm-up", "warm-up")
    assert first.config == CONFIG
    assert second.config.warmup_steps == 0 < first.config.warmup_steps


def test_any_knob_can_be_what_the_twins_differ_in(open_app, nobody_works):
    visitor = open_app("train")
    visitor.selectbox(key="train_question").set_value("own").run()
    assert "They differ in one knob: learning rate" in words(visitor)
    assert not visitor.button(key="train_start").disabled
    visitor.number_input(key="train_own_learning_rate").set_value(CONFIG.learning_rate).run()
    assert "would be the same" in words(visitor)
    assert visitor.button(key="train_start").disabled
    visitor.number_input(key="train_own_learning_rate").set_value(0.01).run()
    visitor.button(key="train_start").click().run()
    first, second = runs.pair(visitor.session_state.train_pair)
    assert (first.role.arm, second.role.arm) == ("learning rate 0.003", "learning rate 0.01")
    assert (first.config.learning_rate, second.config.learning_rate) == (3e-3, 1e-2)


def test_each_knob_begins_with_another_value_in_the_second_twin(open_app):
    visitor = open_app("train")
    visitor.selectbox(key="train_question").set_value("own").run()
    for name in setup.MAY_DIFFER:
        visitor.selectbox(key="train_own_knob").set_value(name).run()
        assert not visitor.exception
        assert not visitor.error, name


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_the_page_tells_is_told_for_the_question(open_app, question):
    visitor = open_app("train", run=ended(question))
    assert not visitor.exception
    first, second = QUESTIONS[question].names
    told = words(visitor) + html(visitor)
    assert "+10.0 points" in told
    assert first in told
    assert second in told
    assert ("Beside each image stands its mirror image" in told) == (question == "flips")


def test_reset_asks_the_same_question_again(open_app, nobody_works):
    pair = ended("causal")
    visitor = open_app("train", run=pair)
    visitor.button(key="train_reset").click().run()
    again = runs.pair(visitor.session_state.train_pair)
    assert [run.role for run in again] == [run.role for run in runs.pair(pair)]
    assert [run.config for run in again] == [run.config for run in runs.pair(pair)]


def test_the_table_tells_twins_of_different_questions_apart(open_app):
    ended("flips")
    ended("causal")
    table = open_app("train").dataframe[0].value
    assert table["twins"].tolist() == ["without a mask / with a causal mask", "without flips / with flips"]
    assert table["what changed"].tolist() == ["another question", "the first"]


def test_a_run_of_old_without_a_role_is_one_of_flip_twins(open_app):
    pair = ended("flips")
    for run in runs.pair(pair):
        settings = json.loads((run.folder / "config.json").read_text())
        del settings["role"]
        (run.folder / "config.json").write_text(json.dumps(settings))
    visitor = open_app("train", run=pair)
    assert not visitor.exception
    assert "Flipping digits hurts" in words(visitor)


def test_names_of_arms_from_outside_are_shown_as_text(open_app):
    evil = "[Sign in](https://evil.example) <b>now</b>"
    pair = ended("flips")
    for run in runs.pair(pair):
        settings = json.loads((run.folder / "config.json").read_text())
        settings["role"]["arm"] = f"{evil} {run.role.side}"
        (run.folder / "config.json").write_text(json.dumps(settings))
    visitor = open_app("train", run=pair)
    assert not visitor.exception
    assert "<b>now" not in html(visitor)
    for kind in ("markdown", "caption"):
        for element in getattr(visitor, kind):
            assert "](https" not in element.value


# Was that luck?


def test_the_same_twins_are_repeated_with_other_seeds_and_the_interval_grows(open_app, nobody_works):
    pair = ended("flips")
    visitor = open_app("train", run=pair)
    assert "One pair is no sample" in words(visitor)
    visitor.button_group(key="luck_seeds").set_value(2).run()
    visitor.button(key="luck_start").click().run()
    assert not visitor.exception
    found = series.read(pair)
    assert found.seeds == [1, 2]
    assert {run.state for run in found.runs} == {"queued"}
    assert "0 of 4 runs have ended" in words(visitor)
    for run in found.runs:
        finish(run, (18 + 2 * run.config.seed) * run.role.side)
    visitor.run()
    assert "Over 3 seeds the twin without flips is ahead by +10.3 points" in words(visitor)
    assert "That is not luck" in words(visitor)
    assert visitor.button(key="luck_start")


def test_repeating_can_be_stopped_and_what_is_done_stays(open_app, nobody_works):
    pair = ended("flips")
    series.create({run.role.arm: run.config for run in runs.pair(pair)}, [5, 6], topic="flips", series_id=pair)
    done = series.read(pair).runs[0]
    finish(done, 0)
    visitor = open_app("train", run=pair)
    visitor.button(key="luck_stop").click().run()
    assert not visitor.exception
    assert sorted(run.state for run in series.read(pair).runs) == ["done", "stopped", "stopped", "stopped"]


def test_who_looks_at_one_pair_of_a_series_sees_all_of_it(open_app, nobody_works):
    pair = ended("flips")
    series.create({run.role.arm: run.config for run in runs.pair(pair)}, [5], topic="flips", series_id=pair)
    for run in series.read(pair).runs:
        finish(run, 24 * run.role.side)
    visitor = open_app("train", run=series.read(pair).runs[0].pair)
    assert "Over 2 seeds the twin without flips is ahead by +11.0 points" in words(visitor)


def test_repeating_that_does_not_fit_is_refused_in_a_sentence(open_app, nobody_works, monkeypatch):
    pair = ended("flips")
    visitor = open_app("train", run=pair)
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor.button(key="luck_start").click().run()
    assert not visitor.exception
    assert "Delete old runs to make room" in words(visitor)
    assert series.read(pair) is None


def test_new_twins_stop_what_this_visitor_repeats(open_app, nobody_works):
    visitor = open_app("train")
    visitor.button(key="train_start").click().run()
    pair = visitor.session_state.train_pair
    for run in runs.pair(pair):
        finish(run, 0)
    visitor.run()
    visitor.button(key="luck_start").click().run()
    assert series.read(pair).moving
    visitor.button(key="train_start").click().run()
    assert visitor.session_state.train_pair != pair
    assert not series.read(pair).moving


# What was recorded


@pytest.fixture
def record(tmp_path, monkeypatch):
    path = tmp_path / "flips-hurt.json"
    monkeypatch.setattr(results, "path_of", lambda study_id, folder=tmp_path: folder / f"{study_id}.json")
    write_flips(CATALOGUE["flips-hurt"], path)
    return path


def test_before_the_first_run_the_page_shows_what_was_recorded(open_app, record):
    visitor = open_app("train")
    assert not visitor.exception
    assert "10 pairs of such twins were trained before you came (MNIST, seeds 0 to 9)" in words(visitor)
    assert "Mirrored, 0, 1 and 8 are still the same" in words(visitor)
    assert html(visitor).count("mirrored\">") == 10
    visitor.selectbox(key="train_question").set_value("residuals").run()
    assert "has not been run yet" in words(visitor)


def test_a_recorded_file_that_is_damaged_is_a_sentence(open_app, record):
    record.write_text(record.read_text()[:500])
    visitor = open_app("train")
    assert not visitor.exception
    assert "cut off" in words(visitor)


def test_a_visitor_s_own_twins_tell_why_some_digits_hardly_lose(open_app):
    shares = [0.9 if digit in (0, 1, 8) else 0.2 for digit in range(10)]
    visitor = open_app("train", run=ended("flips", mirrored_by_class=shares, mirrored_accuracy=0.4))
    assert "Mirrored, 0, 1 and 8 are still the same" in words(visitor)
    other = open_app("train", run=ended("warm-up", mirrored_by_class=shares, mirrored_accuracy=0.4))
    assert "hardly lose?" not in words(other)
