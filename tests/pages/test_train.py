"""The training page without a browser: what it says and does, with run folders in every state."""

import time
from dataclasses import replace

import pytest
import streamlit as st

from tests.support.train_page import CONFIG, finished_twins, html, twins_that_ended, words
from tests.support.verdicts import verdict
from vit import reports, runs
from vit.config import PRESETS, TRAINING_PRESETS
from vit.runs import folder, status, work
from vit.ui.panels.train import live


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


def test_the_estimate_is_of_the_model_that_was_asked_for(small, open_app):
    visitor = open_app("train")
    visitor.button_group(key="train_preset").set_value("article").run()
    assert not visitor.exception
    weights = PRESETS["article"].parameters
    assert f"{weights:,} weights, 50 epochs of 55,000 images: at most about" in words(visitor)


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
