"""How long runs take, from plain numbers."""

import os
from dataclasses import replace

import pytest

from tests.support.verdicts import verdict
from vit import reports, runs
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.runs import estimates

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=640, epochs=2)


def test_work_counts_every_image_that_is_learned_from_and_judged():
    config = replace(CONFIG, batch_size=32, validate_every=10, validation_images=300)  # 40 steps, 4 glances
    assert estimates.work(config) == pytest.approx(2 * 640 + (4 * 300 + 2 * (5_000 + 300)) / 3)


def test_runs_of_the_same_kind_tell_how_fast_others_are_whatever_their_seed_and_length():
    run = runs.read_run(runs.create(CONFIG, pair_id="earlier"))
    line = verdict([], step=run.config.steps, whole=True)
    (run.folder / "metrics.jsonl").write_bytes(reports.to_line(replace(line, seconds=20.0)))
    like_it = replace(CONFIG, seed=7, flips=True, epochs=9, learning_rate=1e-2)
    assert estimates.experienced(like_it, runs.list_runs()) == pytest.approx(estimates.work(CONFIG) / 20)
    for other in (replace(CONFIG, batch_size=8), replace(CONFIG, model=replace(CONFIG.model, depth=2)),
                  replace(CONFIG, augmentation="shifts-and-turns"), TRAINING_PRESETS["quick"]):
        assert estimates.experienced(other, runs.list_runs()) is None


def test_half_a_run_counts_as_half_and_a_moment_of_one_not_at_all():
    run = runs.read_run(runs.create(CONFIG))
    half = verdict([], step=run.config.steps // 2)
    (run.folder / "metrics.jsonl").write_bytes(reports.to_line(replace(half, seconds=10.0)))
    assert estimates.experienced(CONFIG, [run]) == pytest.approx(estimates.work(CONFIG) / 20)
    (run.folder / "metrics.jsonl").write_bytes(reports.to_line(replace(half, seconds=0.1)))
    assert estimates.experienced(CONFIG, [run]) is None


def test_runs_share_the_workers_and_what_comes_later_has_to_wake_up(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert estimates.together([10.0, 12.0], workers=2, threads=1) == 12.0
    later = estimates.WAKING_UP
    assert estimates.together([10.0, 10.0, 10.0, 10.0], workers=2, threads=1) == 20.0 + later
    assert estimates.together([10.0, 10.0, 10.0], workers=1, threads=1) == 30.0 + 2 * later
    assert estimates.together([], workers=2, threads=1) == 0.0


def test_more_workers_than_cores_are_no_quicker(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert estimates.together([10.0, 10.0], workers=2, threads=1) == 20.0
