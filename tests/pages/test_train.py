"""The training page without a browser: what it says and does, with run folders in every state."""

import time
from dataclasses import replace

import pytest

from vit import dispatch, runs, worker
from vit.config import PRESETS, TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.ui import training_after

CONFIG = TrainConfig(
    model=ViTConfig(patch_size=7, width=16, depth=1, heads=2), train_images=640, epochs=2, batch_size=32,
    validate_every=10, validation_images=200, initialisation="pytorch", learning_rate=3e-3,
)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    monkeypatch.setattr(dispatch, "WARM_WORKERS", 0)
    yield tmp_path
    for run in runs.list_runs():
        runs.stop(run.id)
    while runs.busy():
        time.sleep(0.05)
    dispatch.dispatcher().close()


@pytest.fixture
def small(monkeypatch, shipped):
    """Quick, but quicker."""
    shipped(CONFIG.model)
    monkeypatch.setitem(TRAINING_PRESETS, "quick", CONFIG)


def finished_twins(config=CONFIG) -> str:
    pair = runs.create_twins(config, "quick")
    for run in runs.pair(pair):
        assert worker.Worker(run.folder).work() == 0
    return pair


def words(visitor) -> str:
    kinds = ("title", "markdown", "caption", "warning", "info", "error", "subheader")
    return "\n".join(element.value for kind in kinds for element in getattr(visitor, kind))


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
    deadline = time.monotonic() + 120
    while {run.state for run in runs.list_runs()} != {"done"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for visitor, pair in ((first, ours), (second, theirs)):
        visitor.run()
        assert not visitor.exception
        assert visitor.session_state.train_pair == pair
        assert visitor.query_params["run"] == pair
    plain, other_plain = (runs.pair(pair)[0] for pair in (ours, theirs))
    timeless = [[{k: v for k, v in line.items() if k not in ("seconds", "images_per_second")}
                 for line in runs.Feed(run.folder).read()] for run in (plain, other_plain)]
    assert timeless[0] == timeless[1]  # the same seed: pressing Start again replays the same run


def test_a_finished_pair_shows_the_measured_gap_and_opens_in_the_explorer(small, open_app):
    pair = finished_twins()
    visitor = open_app("train", run=pair)
    assert not visitor.exception
    verdicts = [runs.last_verdict(run.folder) for run in runs.pair(pair)]
    gap = 100 * (verdicts[0]["accuracy"] - verdicts[1]["accuracy"])
    assert f"{gap:+.1f} points".replace("-", "−") in words(visitor)
    assert "after 40 steps" in words(visitor)
    visitor.button(key="explore_True").click().run()
    assert visitor.session_state.model == f"run:{runs.pair(pair)[1].id}/epoch-0002"


def test_each_move_of_the_slider_over_the_epochs_counts(small, open_app):
    visitor = open_app("train", run=finished_twins())
    for stem in ("epoch-0000", "epoch-0001", "epoch-0000", "epoch-0002"):
        visitor.select_slider(key="train_epoch_widget").set_value(stem).run()
        assert visitor.select_slider(key="train_epoch_widget").value == stem
        assert f"after epoch {int(stem[-4:])}: it reads" in words(visitor)


def test_a_wish_for_a_run_that_another_visitor_deleted_gets_a_sentence(small, open_app):
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
    visitor.number_input(key="knob_width").set_value(40_000).run()
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


def test_who_looks_at_another_visitor_s_run_does_not_stop_it_by_starting_their_own(small, open_app):
    first = open_app("train")
    first.button(key="train_start").click().run()
    theirs = first.session_state.train_pair
    second = open_app("train", run=theirs)
    second.button(key="train_start").click().run()
    assert second.session_state.train_pair != theirs
    assert all(runs.read_control(run.folder) == "run" for run in runs.pair(theirs))


def test_runs_of_a_server_that_is_gone_are_interrupted_and_resumed_with_one_click(small, open_app):
    pair = runs.create_twins(CONFIG, "quick")
    for run in runs.pair(pair):
        runs.write_status(run.folder, "running")
    visitor = open_app("train", run=pair)
    assert "interrupted" in "".join(html.proto.body for html in visitor.get("html"))
    visitor.button(key="train_resume").click().run()
    assert {run.state for run in runs.pair(pair)} <= {"queued", "running", "done"}


def test_failed_and_unreadable_runs_do_not_break_the_page(small, open_app, root):
    pair = finished_twins()
    plain, flips = runs.pair(pair)
    runs.write_status(plain.folder, "failed", "The disk is full. <b>Make room</b>.")
    with (flips.folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "tra')
    (flips.folder / "batch.npz").write_bytes(b"half a fi")
    (root / "strange").mkdir()
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
    assert worker.Worker(folder).work() == 0
    visitor = open_app("train", run="long")
    assert not visitor.exception
    assert "Open in the explorer" in [button.label for button in visitor.button]


def test_the_table_writes_what_changed(small, open_app):
    finished_twins()
    finished_twins(replace(CONFIG, learning_rate=1e-2))
    visitor = open_app("train")
    table = visitor.dataframe[0].value
    assert table["what changed"].tolist() == ["learning rate 0.003 → 0.01", "the first"]
    assert table["without flips"].between(0, 100).all()


def test_over_the_disk_limit_the_page_offers_to_delete_old_runs(small, open_app, monkeypatch):
    finished_twins()
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor = open_app("train")
    visitor.button(key="train_start").click().run()
    assert "Delete old runs to make room" in words(visitor)
    next(button for button in visitor.button if "oldest" in button.label).click().run()
    assert runs.list_runs() == []


def test_the_oldest_are_the_oldest_of_all_not_of_those_that_are_listed(small, open_app, monkeypatch):
    pairs = [finished_twins() for _ in range(4)]
    monkeypatch.setattr(training_after, "MOST_LISTED", 2)
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor = open_app("train")
    next(button for button in visitor.button if button.label == "Delete the 2 oldest").click().run()
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
