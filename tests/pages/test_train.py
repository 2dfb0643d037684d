"""The training page without a browser: what it says and does, with run folders in every state."""

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st

from tests.support.verdicts import LABELS, verdict
from vit import reports, runs
from vit.config import PRESETS, TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.runs import folder, status, work
from vit.ui.panels.train import entries, live, table

CONFIG = TrainConfig(
    model=ViTConfig(patch_size=7, width=16, depth=1, heads=2), train_images=640, epochs=2, batch_size=32,
    validate_every=10, validation_images=200, initialisation="pytorch", learning_rate=3e-3,
)


@pytest.fixture
def small(monkeypatch, shipped):
    """Quick, but quicker."""
    shipped(CONFIG.model)
    monkeypatch.setitem(TRAINING_PRESETS, "quick", CONFIG)


def finished_twins(config=CONFIG) -> str:
    pair = runs.create_twins(config, "quick")
    for run in runs.pair(pair):
        assert work.Worker(run.folder).work() == 0
    return pair


def twins_that_ended(config=CONFIG, state="done", epochs=1) -> str:
    """Folders as finished runs leave them, without the training."""
    pair = runs.create_twins(config, "quick")
    for run in runs.pair(pair):
        lines = [verdict([], step=0)] + [
            verdict(np.flatnonzero(LABELS != 0)[:100] if run.config.flips else [], step=20 * (epoch + 1), whole=True)
            for epoch in range(epochs)
        ]
        (run.folder / "metrics.jsonl").write_bytes(b"".join(map(reports.to_line, lines)))
        runs.write_status(run.folder, state)
    return pair


def words(visitor) -> str:
    kinds = ("title", "markdown", "caption", "warning", "info", "error", "subheader")
    written = "\n".join(element.value for kind in kinds for element in getattr(visitor, kind))
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written)  # as Markdown shows it


def html(visitor) -> str:
    return "".join(element.proto.body for element in visitor.get("html"))


def choose_rows(visitor, *rows):
    """Tick rows of the table, which AppTest has no way to do."""
    states = visitor._tree.get_widget_states()
    states.widgets.add(id=visitor.dataframe[0].proto.id, string_value=json.dumps(
        {"selection": {"rows": rows, "columns": [], "cells": []}}))
    return visitor._run(states)


def test_a_first_visitor_is_offered_presets_and_told_what_they_take(small, open_app):
    visitor = open_app("train")
    assert not visitor.exception
    assert "on this machine" in words(visitor)
    assert visitor.button(key="train_start").disabled is False


def test_start_trains_real_twins_and_each_visitor_keeps_their_own(small, open_app):
    first, second = open_app("train"), open_app("train")
    first.button(key="train_start").click().run()
    ours = first.session_state.train_pair
    second.run()
    assert second.session_state.train_pair is None
    second.button(key="train_start").click().run()
    theirs = second.session_state.train_pair
    assert ours != theirs
    deadline = time.monotonic() + 600  # so many seconds only where others hold the cores
    while {run.state for run in runs.list_runs()} != {"done"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for visitor, pair in ((first, ours), (second, theirs)):
        visitor.run()
        assert not visitor.exception
        assert visitor.session_state.train_pair == pair
        assert visitor.query_params["run"] == pair
    plain, other_plain = (runs.pair(pair)[0] for pair in (ours, theirs))
    timeless = [[replace(line, seconds=0, **({"images_per_second": 0} if line.kind == "train" else {}))
                 for line in runs.Feed(run.folder).read()] for run in (plain, other_plain)]
    assert timeless[0] == timeless[1]  # the same seed: pressing Start again replays the same run


def test_a_finished_pair_shows_the_measured_gap_and_opens_in_the_explorer(small, open_app):
    pair = finished_twins()
    visitor = open_app("train", run=pair)
    assert not visitor.exception
    verdicts = [runs.last_verdict(run.folder) for run in runs.pair(pair)]
    gap = 100 * (verdicts[0].accuracy - verdicts[1].accuracy)
    assert f"{gap:+.1f} points".replace("-", "−") in words(visitor)
    assert "after 40 steps" in words(visitor)
    visitor.button(key="explore_1").click().run()
    assert visitor.session_state.model == f"run:{runs.pair(pair)[1].id}/epoch-0002"


def test_each_move_of_the_slider_over_the_epochs_counts(small, open_app):
    visitor = open_app("train", run=finished_twins())
    for stem in ("epoch-0000", "epoch-0001", "epoch-0000", "epoch-0002"):
        visitor.select_slider(key="train_epoch_widget").set_value(stem).run()
        assert visitor.select_slider(key="train_epoch_widget").value == stem
        assert f"after epoch {int(stem[-4:])}: it reads" in words(visitor)


def test_what_is_asked_of_a_run_that_another_visitor_deleted_gets_a_sentence(small, open_app):
    pair = finished_twins()
    for run in runs.pair(pair):
        runs.write_status(run.folder, "paused")
    visitor = open_app("train", run=pair)
    for run in runs.pair(pair):
        runs.delete(run.id)
    visitor.button(key="train_resume").click().run()
    assert not visitor.exception
    assert "it may have been deleted" in words(visitor)


def test_the_explorer_reads_with_the_checkpoint_that_was_opened(small, open_app):
    plain = runs.pair(finished_twins())[0]
    visitor = open_app("logits", d="s0", model=f"run:{plain.id}/epoch-0001")
    assert not visitor.exception
    assert not visitor.warning


def test_a_knob_says_what_it_changes_and_nonsense_cannot_be_started(small, open_app):
    visitor = open_app("train")
    visitor.number_input(key="knob_learning_rate").set_value(0.01).run()
    assert "learning rate 0.003 → 0.01: how far each step moves the weights" in words(visitor)
    visitor.number_input(key="knob_heads").set_value(5).run()
    assert "cannot be shared evenly by 5 heads" in words(visitor)
    assert visitor.button(key="train_start").disabled


def test_a_model_that_no_memory_holds_is_neither_tried_nor_started(small, open_app):
    visitor = open_app("train")
    visitor.number_input(key="knob_mlp_ratio").set_value(0.5)
    visitor.number_input(key="knob_width").set_value(20_000).run()
    assert not visitor.exception
    assert "of memory for each twin, and 8 GB is the most" in words(visitor)
    assert visitor.button(key="train_start").disabled
    visitor.number_input(key="knob_width").set_value(2**53 - 1).run()
    assert "cannot be shared evenly" in words(visitor)
    visitor.number_input(key="knob_mlp_ratio").set_value(1e308).run()
    assert not visitor.exception
    visitor.number_input(key="knob_mlp_ratio").set_value(2.0)
    visitor.number_input(key="knob_width").set_value(4_000).run()
    assert "too large to try how long that takes" in words(visitor)


def test_an_emptied_knob_means_all_and_never_again(small, open_app):
    visitor = open_app("train")
    for knob, number in (("train_images", 100), ("stop_patience", 3)):
        visitor.number_input(key=f"knob_{knob}").set_value(number).run()
        visitor.number_input(key=f"knob_{knob}").set_value(None).run()
    assert not visitor.exception
    assert "train images 640 → all" in words(visitor)
    assert "stop patience" not in words(visitor)


def test_other_data_come_with_a_model_that_fits(small, open_app):
    visitor = open_app("train")
    visitor.selectbox(key="knob_dataset").set_value("cifar10").run()
    assert not visitor.exception
    assert not visitor.error
    assert "dataset mnist → cifar10" in words(visitor)
    assert visitor.selectbox(key="knob_patch_size").value == 8  # the nearest to 7 that divides 32
    visitor.selectbox(key="knob_dataset").set_value("mnist").run()
    assert visitor.selectbox(key="knob_patch_size").value == 7


def test_reset_replays_the_seed_and_a_new_seed_is_another(small, open_app):
    pair = finished_twins()
    visitor = open_app("train", run=pair)
    visitor.button(key="train_reset").click().run()
    again = visitor.session_state.train_pair
    assert again != pair
    assert runs.pair(again)[0].config == runs.pair(pair)[0].config
    assert {run.state for run in runs.pair(pair)} == {"done"}
    visitor.button(key="train_seed").click().run()
    fresh = runs.pair(visitor.session_state.train_pair)[0].config
    assert fresh.seed != CONFIG.seed
    assert replace(fresh, seed=CONFIG.seed) == CONFIG
    assert {run.state for run in runs.pair(again)} == {"stopped"}


@pytest.mark.parametrize("state", ["queued", "running", "paused", "stopping"])
def test_while_a_worker_may_act_the_page_looks_again_and_again(small, open_app, monkeypatch, state):
    """Also while it pauses: it answers to Resume only after the page was made anew."""
    looks, fragment = {}, st.fragment

    def recorded(function, *, run_every):
        looks[function.__name__] = run_every
        return fragment(function, run_every=run_every)

    pair = twins_that_ended(state=state)
    monkeypatch.setattr(status, "is_locked", lambda folder: True)
    with monkeypatch.context() as patched:
        patched.setattr(st, "fragment", recorded)
        visitor = open_app("train", run=pair)
    assert not visitor.exception
    assert looks == {"panel": live.TICK}
    monkeypatch.setattr(status, "is_locked", lambda folder: False)


def test_a_pair_that_has_ended_is_glanced_at_in_case_somebody_lets_it_go_on(small, open_app, monkeypatch):
    looks, fragment = {}, st.fragment

    def recorded(function, *, run_every):
        looks[function.__name__] = run_every
        return fragment(function, run_every=run_every)

    pair = twins_that_ended()
    with monkeypatch.context() as patched:
        patched.setattr(st, "fragment", recorded)
        open_app("train", run=pair)
    assert looks == {"panel": None, "notice_changes": live.GLANCE}


def test_who_looks_at_another_visitor_s_run_does_not_stop_it_by_starting_their_own(small, open_app):
    first = open_app("train")
    first.button(key="train_start").click().run()
    theirs = first.session_state.train_pair
    second = open_app("train", run=theirs)
    second.button(key="train_start").click().run()
    assert second.session_state.train_pair != theirs
    assert all(runs.read_control(run.folder) == "run" for run in runs.pair(theirs))


@pytest.mark.parametrize("refused", [0, 1])
def test_a_start_that_is_refused_leaves_no_folders_and_the_last_run_goes_on(small, open_app, monkeypatch, refused):
    monkeypatch.setitem(TRAINING_PRESETS, "quick", replace(CONFIG, epochs=1_000))
    visitor = open_app("train")
    visitor.button(key="train_start").click().run()
    ours = visitor.session_state.train_pair
    resume, resumed = folder.resume, []

    def refuse(run_id, *arguments):
        resumed.append(run_id)
        if len(resumed) > refused:
            raise runs.RunError("8 pairs wait for their turn already.")
        resume(run_id, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(folder, "resume", refuse)
        visitor.button(key="train_start").click().run()
    assert "8 pairs wait for their turn already." in words(visitor)
    assert visitor.session_state.train_pair == ours
    assert {run.pair for run in runs.list_runs()} == {ours}
    assert {run.state for run in runs.pair(ours)} <= {"queued", "running"}
    visitor.button(key="train_start").click().run()
    assert visitor.session_state.train_pair != ours
    assert {run.state for run in runs.pair(ours)} <= {"stopping", "stopped"}


def test_runs_of_a_server_that_is_gone_are_interrupted_and_resumed_with_one_click(small, open_app):
    pair = runs.create_twins(CONFIG, "quick")
    for run in runs.pair(pair):
        runs.write_status(run.folder, "running")
    visitor = open_app("train", run=pair)
    assert "interrupted" in html(visitor)
    visitor.button(key="train_resume").click().run()
    assert {run.state for run in runs.pair(pair)} <= {"queued", "running", "done"}


def test_failed_and_unreadable_runs_do_not_break_the_page(small, open_app, root):
    pair = finished_twins()
    plain, flips = runs.pair(pair)
    runs.write_status(plain.folder, "failed", "The disk is full. <b>Make room</b>.")
    with (flips.folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "tra')
    (flips.folder / "batch.npz").write_bytes(b"half a fi")
    (root / "strange").mkdir(parents=True)
    (root / "strange" / "config.json").write_text("[]")
    visitor = open_app("train", run=pair)
    assert not visitor.exception


@pytest.mark.parametrize("run", ["../../etc", "no-such-run", "*"])
def test_a_link_to_a_run_that_is_gone_says_so(small, open_app, run):
    visitor = open_app("train", run=run)
    assert not visitor.exception
    assert "not here any more" in words(visitor)


def test_a_single_run_from_the_command_line_can_be_looked_at(small, open_app, root):
    folder = runs.create(CONFIG, "quick", pair_id="long", folder=root / "long")
    assert work.Worker(folder).work() == 0
    visitor = open_app("train", run="long")
    assert not visitor.exception
    assert "Open in the explorer" in [button.label for button in visitor.button]


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


def test_the_estimate_is_of_the_model_that_was_asked_for(small, open_app):
    visitor = open_app("train")
    visitor.button_group(key="train_preset").set_value("article").run()
    assert not visitor.exception
    weights = PRESETS["article"].parameters
    assert f"{weights:,} weights, 50 epochs of 55,000 images: at most about" in words(visitor)


# The table


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


# Damage, and words from outside

VERDICT = reports.to_line(verdict([], step=20, whole=True)).decode()
DAMAGE = {
    "a verdict without accuracy": ("metrics.jsonl", VERDICT.replace('"accuracy"', '"precision"')),
    "a verdict of NaN": ("metrics.jsonl", re.sub(r'"loss": [\d.]+', '"loss": NaN', VERDICT)),
    "a verdict of words": ("metrics.jsonl", re.sub(r'"loss": [\d.]+', '"loss": "low"', VERDICT)),
    "a verdict on few classes": ("metrics.jsonl", json.dumps(
        {**json.loads(VERDICT), "confusion": [[1000]], "predictions": "0" * 1000}) + "\n"),
    "a verdict on few images": ("metrics.jsonl", json.dumps(
        {**json.loads(VERDICT), "images": 10, "predictions": "0" * 10,
         "confusion": [[1] + [0] * 9 for _ in range(10)]}) + "\n"),
    "metrics that are a list": ("metrics.jsonl", "[1, 2]\n"),
    "a batch that is cut off": ("batch.npz", "PK\x03\x04half a file"),
    "an unknown state": ("status.json", '{"state": "dancing", "since": 0}'),
    "a status that is no JSON": ("status.json", "{"),
    "a checkpoint that is cut off": ("checkpoints/epoch-0001.safetensors", "half a file"),
    "a checkpoint of a strange name": ("checkpoints/epoch-[x](y).safetensors", "?"),
    "a strange control file": ("control", "dance"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_in_one_run_is_an_error_to_nobody(small, open_app, name):
    pair = twins_that_ended()
    file, content = DAMAGE[name]
    for run in runs.pair(pair):
        (run.folder / "checkpoints").mkdir(exist_ok=True)
        (run.folder / file).write_text(content)
    for parameters in ({"run": pair}, {}):
        visitor = open_app("train", **parameters)
        assert not visitor.exception
        assert len(visitor.dataframe) == 1


def test_words_from_outside_are_shown_as_text(small, open_app):
    evil = "[Sign in](https://evil.example) ![x](https://evil.example/x.png) <b>now</b>"
    pair = twins_that_ended()
    for run in runs.pair(pair):
        settings = json.loads((run.folder / "config.json").read_text())
        (run.folder / "config.json").write_text(json.dumps(settings | {"preset": evil}))
        runs.write_status(run.folder, "failed", evil)
        with (run.folder / "metrics.jsonl").open("ab") as file:
            file.write(reports.to_line(reports.Note(step=20, message=evil)))
    visitor = open_app("train", run=pair)
    choose_rows(visitor, 0)
    visitor.button(key="train_delete").click().run()
    assert not visitor.exception
    assert "<b>now" not in html(visitor)
    for kind in ("markdown", "caption", "error", "warning"):
        for element in getattr(visitor, kind):
            assert "](https" not in element.value
    assert "](https" in words(visitor)  # escaped, in the question


def test_a_folder_of_runs_that_cannot_be_used_leaves_the_page_with_a_sentence(small, open_app, root, monkeypatch):
    root.mkdir()
    (root / "occupied").write_text("a file")
    with monkeypatch.context() as patched:
        patched.setenv("PATCHWISE_RUNS", str(root / "occupied"))
        visitor = open_app("train")
    assert not visitor.exception
    assert "How does it learn" in words(visitor)
    assert "No run can be started at the moment" in words(visitor)
    assert visitor.button(key="train_start").disabled


# What is left of a run


def test_it_says_on_which_images_each_share_was_measured(small, open_app):
    pair = twins_that_ended()
    for run in runs.pair(pair):
        (run.folder / "checkpoints").mkdir()
        (run.folder / "checkpoints" / "epoch-0001.safetensors").write_text("not needed")
        line = verdict([0], step=50, whole=True, mirrored_accuracy=0.413 if run.config.flips else None)
        (run.folder / "metrics.jsonl").write_bytes(reports.to_line(line))
    visitor = open_app("train", run=pair)
    assert "after epoch 1: it reads 99.9% of 1,000 validation images." in words(visitor)
    assert "99.9% of 1,000 validation images and **41.3% of 200 mirror images** of such." in words(visitor)
