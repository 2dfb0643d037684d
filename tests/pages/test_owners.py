"""Who may do what on the training page, as each visitor sees it."""

from dataclasses import replace

import pytest

from tests.support.train_page import CONFIG, choose_rows, words
from vit import runs
from vit.runs import owners, series
from vit.runs.owners import mark_of
from vit.runs.queue import Dispatcher

OURS, THEIRS = "o" * 43, "t" * 43
CONTROLS = ("train_pause", "train_resume", "train_step", "train_stop")

pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    monkeypatch.setattr(owners, "_pause", lambda seconds: None)


@pytest.fixture
def visit(open_app):
    """Opens the training page in the browser with this secret; once more is a reload, or another tab."""

    def open_as(secret, **parameters):
        visitor = open_app("draw", **parameters)
        visitor.session_state.visitor_secret = secret
        visitor.session_state.page = "train"
        return visitor.switch_page("../../pages/train.py").run()

    return open_as


def paused_twins(secret: str) -> str:
    arms = {runs.FLIPS[flips]: replace(CONFIG, flips=flips) for flips in (False, True)}
    pair = runs.create_pair(arms, "quick", "flips", mark_of(secret) if secret else "")
    for run in runs.pair(pair):
        runs.write_status(run.folder, "paused")
        runs.write_control(run.folder, "pause")
    return pair


def test_another_visitor_sees_the_run_and_why_its_buttons_are_off(key, visit):
    pair = paused_twins(THEIRS)
    visitor = visit(OURS, run=pair)
    assert all(visitor.button(key=name).disabled for name in CONTROLS)
    assert "Another visitor started this." in words(visitor)
    assert not visitor.button(key="train_reset").disabled
    owner = visit(THEIRS, run=pair)
    assert not owner.button(key="train_resume").disabled
    assert "Another visitor started this." not in words(owner)


@pytest.mark.parametrize("name", ["train_resume", "train_step", "train_stop"])
def test_a_click_is_judged_when_it_comes_whatever_the_button_was(visit, monkeypatch, name):
    pair = paused_twins(THEIRS)
    visitor = visit(OURS, run=pair)
    visitor.button(key=name).click()
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    visitor.run()
    assert not visitor.exception
    assert "Another visitor started this" in visitor.error[0].value
    assert {run.state for run in runs.pair(pair)} == {"paused"}
    assert {runs.read_control(run.folder) for run in runs.pair(pair)} == {"pause"}


def test_without_a_key_everybody_controls_every_run(visit):
    pair = paused_twins(THEIRS)
    visitor = visit(OURS, run=pair)
    assert "Whoever opens this page can pause, stop and delete every run" in words(visitor)
    visitor.button(key="train_stop").click().run()
    assert {run.state for run in runs.pair(pair)} == {"stopped"}


def test_a_run_of_nobody_s_is_the_teacher_s(key, visit):
    visitor = visit(OURS, run=paused_twins(""))
    assert visitor.button(key="train_stop").disabled
    assert "No visitor of these pages started this." in words(visitor)


def test_what_a_visitor_starts_is_theirs_after_a_reload_and_nobody_else_s(key, visit, monkeypatch):
    monkeypatch.setattr(Dispatcher, "_start_waiting", lambda self: None)
    visitor = visit(OURS)
    visitor.button(key="train_start").click().run()
    pair = visitor.session_state.train_pair
    assert {run.owner for run in runs.pair(pair)} == {mark_of(OURS)}
    assert not visit(OURS, run=pair).button(key="train_stop").disabled
    assert visit(THEIRS, run=pair).button(key="train_stop").disabled


def test_the_key_unlocks_every_run_until_it_is_forgotten(key, visit):
    pair = paused_twins(THEIRS)
    visitor = visit(OURS, run=pair)
    visitor.button(key="teacher_enter").click().run()
    visitor.text_input(key="teacher_entered").input("cheese")
    unlock = next(button for button in visitor.button if button.label == "Unlock")
    unlock.click().run()
    assert "That is not the teacher's key." in words(visitor)
    assert visitor.button(key="train_stop").disabled
    visitor.text_input(key="teacher_entered").input("chalk")
    next(button for button in visitor.button if button.label == "Unlock").click().run()
    assert not visitor.exception
    assert "control every run" in words(visitor)
    assert "chalk" not in str(visitor.query_params)
    visitor.button(key="train_stop").click().run()
    assert {run.state for run in runs.pair(pair)} == {"stopped"}
    visitor.button(key="teacher_forget").click().run()
    assert visitor.button(key="train_resume").disabled


def test_the_table_tells_whose_a_run_is_and_lets_nobody_delete_another_s(key, visit):
    paused_twins(THEIRS)
    visitor = visit(OURS)
    assert visitor.dataframe[0].value["whose"].tolist() == ["another's"]
    choose_rows(visitor, 0)
    assert visitor.button(key="train_delete").disabled
    assert "Another visitor started this." in words(visitor)
    assert visit(THEIRS).dataframe[0].value["whose"].tolist() == ["yours"]


def test_a_deletion_is_judged_when_it_is_confirmed(visit, monkeypatch):
    pair = paused_twins(THEIRS)
    visitor = visit(OURS)
    choose_rows(visitor, 0)
    visitor.button(key="train_delete").click().run()
    visitor.button(key="train_delete_yes").click()
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    visitor.run()
    assert "Another visitor started this" in visitor.error[0].value
    assert len(runs.pair(pair)) == 2


def test_over_the_disk_limit_a_visitor_is_offered_their_own_runs_alone(key, visit, monkeypatch):
    paused_twins(THEIRS)
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    assert "None of them is yours to delete." in words(visit(OURS))
    assert visit(THEIRS).button(key="train_clean_up").label == "Delete the 1 oldest"


def test_a_deletion_is_taken_back_in_the_same_browser_also_after_a_reload(key, visit):
    pair = paused_twins(THEIRS)
    visitor = visit(THEIRS, run=pair)
    choose_rows(visitor, 0)
    visitor.button(key="train_delete").click().run()
    assert "You can take this back for a minute" in words(visitor)
    visitor.button(key="train_delete_yes").click().run()
    assert not visitor.exception
    assert runs.list_runs() == []
    assert "not here any more" not in words(visitor)
    assert "1 run deleted. You can take that back for" in words(visitor)
    assert "You can take that back" not in words(visit(OURS))
    again = visit(THEIRS)
    assert "1 run deleted" in words(again)
    visitor.button(key="train_take_back").click().run()
    assert not visitor.exception
    assert visitor.session_state.train_pair == pair
    assert len(runs.pair(pair)) == 2
    again.button(key="train_take_back").click().run()  # another tab was quicker
    assert not again.exception


def test_the_page_says_how_much_may_be_trained(key, visit, monkeypatch):
    monkeypatch.setenv("PATCHWISE_WORKERS", "3")
    monkeypatch.setenv("PATCHWISE_QUEUE", "6")
    monkeypatch.setenv("PATCHWISE_PAIR_MB", "1200")
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "5000")
    said = words(visit(OURS))
    assert "3 runs train at once, and 6 pairs may wait for their turn, at most 3 of them one visitor's." in said
    assert "1.2 GB of memory" in said
    assert "5,000 MB of disk" in said


def test_tabs_of_one_browser_share_what_it_may_have_waiting(key, visit, monkeypatch):
    monkeypatch.setenv("PATCHWISE_QUEUE_EACH", "1")
    monkeypatch.setattr(Dispatcher, "_start_waiting", lambda self: None)
    first = visit(OURS)
    first.button(key="train_start").click().run()
    pair = first.session_state.train_pair
    second = visit(OURS)
    second.button(key="train_start").click().run()
    assert "One visitor may have 1 pair waiting here." in words(second)
    assert {run.pair for run in runs.list_runs()} == {pair}
    other = visit(THEIRS)
    other.button(key="train_start").click().run()
    assert other.session_state.train_pair not in (None, pair)


def test_a_new_start_stops_one_s_own_runs_and_not_another_s_repetition_of_them(key, visit, monkeypatch):
    monkeypatch.setattr(Dispatcher, "_start_waiting", lambda self: None)
    visitor = visit(OURS)
    visitor.button(key="train_start").click().run()
    pair = visitor.session_state.train_pair
    arms = {run.role.arm: run.config for run in runs.pair(pair)}
    for seeds, secret in (([5], OURS), ([6], THEIRS)):
        series.create(arms, seeds, topic="flips", series_id=pair, owner=mark_of(secret))
    visitor.button(key="train_start").click().run()
    assert not visitor.error
    assert {run.state for run in runs.pair(pair)} == {"stopped"}
    assert {run.config.seed: run.state for run in series.read(pair).runs} == {5: "stopped", 6: "queued"}
