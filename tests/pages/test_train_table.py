"""The table of runs on the training page: what it tells of each, and what can be done with its rows."""

import re
from dataclasses import replace

from tests.support.train_page import CONFIG, choose_rows, finished_twins, twins_that_ended, words
from vit import runs
from vit.runs import folder
from vit.ui.panels.train import entries, table


def test_the_table_writes_what_changed(small, open_app):
    finished_twins()
    finished_twins(replace(CONFIG, learning_rate=1e-2))
    visitor = open_app("train")
    table = visitor.dataframe[0].value
    assert table["what changed"].tolist() == ["learning rate 0.003 → 0.01", "the first"]
    assert table["twins"].tolist() == ["without flips / with flips"] * 2
    assert table["first"].between(0, 100).all()


def test_over_the_disk_limit_the_page_offers_to_delete_old_runs(small, open_app, monkeypatch):
    finished_twins()
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor = open_app("train")
    visitor.button(key="train_start").click().run()
    assert "Delete old runs to make room" in words(visitor)
    visitor.button(key="train_clean_up").click().run()
    assert len(runs.list_runs()) == 2
    visitor.button(key="train_delete_yes").click().run()
    assert runs.list_runs() == []


def test_the_oldest_are_the_oldest_of_all_not_of_those_that_are_listed(small, open_app, monkeypatch):
    pairs = [twins_that_ended() for _ in range(4)]
    monkeypatch.setattr(table, "MOST_LISTED", 2)
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor = open_app("train")
    assert visitor.button(key="train_clean_up").label == "Delete the 2 oldest"
    visitor.button(key="train_clean_up").click().run()
    visitor.button(key="train_delete_yes").click().run()
    assert {run.pair for run in runs.list_runs()} == set(pairs[2:])


def test_rows_that_were_chosen_are_forgotten_when_another_run_comes(small, open_app):
    finished_twins()
    visitor = open_app("train")
    before = visitor.dataframe[0].proto.id
    visitor.run()
    assert visitor.dataframe[0].proto.id == before
    finished_twins()
    visitor.run()
    assert visitor.dataframe[0].proto.id != before


def test_a_row_that_is_chosen_can_be_looked_at(small, open_app):
    older, newer = twins_that_ended(), twins_that_ended(replace(CONFIG, seed=7))
    visitor = open_app("train")
    choose_rows(visitor, 1)
    visitor.button(key="train_show").click().run()
    assert not visitor.exception
    assert visitor.query_params["run"] == older != newer


def test_two_rows_are_compared_in_words_and_curves(small, open_app):
    twins_that_ended()
    twins_that_ended(replace(CONFIG, learning_rate=1e-2))
    visitor = open_app("train")
    choose_rows(visitor, 0, 1)
    assert not visitor.exception
    assert "From the older run (faded) to the newer: learning rate 0.003 → 0.01." in words(visitor).replace("**", "")


def test_deleting_asks_first_names_the_runs_and_can_be_refused(small, open_app):
    doomed, kept = twins_that_ended(), twins_that_ended()
    visitor = open_app("train")
    choose_rows(visitor, 1)
    visitor.button(key="train_delete").click().run()
    assert {run.pair for run in runs.list_runs()} == {doomed, kept}
    assert doomed in words(visitor)
    assert kept not in words(visitor)
    assert re.search(r"\d\.\d MB", words(visitor))
    visitor.button(key="train_delete_no").click().run()
    assert {run.pair for run in runs.list_runs()} == {doomed, kept}
    assert doomed not in words(visitor)
    choose_rows(visitor, 1)
    visitor.button(key="train_delete").click().run()
    visitor.run()  # another tick of the page does not take the question away
    visitor.button(key="train_delete_yes").click().run()
    assert {run.pair for run in runs.list_runs()} == {kept}


def test_who_deletes_a_run_that_trains_is_told_so(small, open_app):
    visitor = open_app("train")
    visitor.button(key="train_start").click().run()
    choose_rows(visitor, 0)
    visitor.button(key="train_delete").click().run()
    assert "It is training now, and will be stopped" in words(visitor)
    visitor.button(key="train_delete_yes").click().run()
    assert not visitor.exception
    assert runs.list_runs() == []


def test_a_folder_that_cannot_be_read_is_a_line_that_says_so_and_can_be_deleted(small, open_app, root):
    good = twins_that_ended()
    (root / "strange").mkdir(parents=True)
    (root / "strange" / "config.json").write_text("[]")
    visitor = open_app("train")
    table = visitor.dataframe[0].value
    assert table["state"].tolist() == ["done", "cannot be read"]
    assert table["run"].tolist() == ["quick", "strange"]
    choose_rows(visitor, 1)
    visitor.button(key="train_delete").click().run()
    visitor.button(key="train_delete_yes").click().run()
    assert not visitor.exception
    assert not (root / "strange").exists()
    assert {run.pair for run in runs.list_runs()} == {good}


def test_the_table_looks_into_each_folder_once(small, open_app, root, monkeypatch):
    twins_that_ended()
    (root / "strange").mkdir()
    (root / "strange" / "config.json").write_text("[]")
    looked, read_run = [], folder.read_run
    monkeypatch.setattr(folder, "read_run", lambda path: looked.append(path.name) or read_run(path))
    found = entries.all_entries()
    assert [bool(entry.runs) for entry in found] == [True, False]
    assert len(looked) == len(set(looked)) == 3
