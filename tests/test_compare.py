"""Runs beside each other: the numbers must be those of the runs, and the sentences those of the numbers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.verdicts import LABELS, training_line, verdict, verdict_of
from vit import compare
from vit.config import TrainConfig, ViTConfig
from vit.numbers import duration


def test_the_gap_counts_only_images_that_the_twins_judge_differently():
    plain, flips = verdict(np.arange(0, 20)), verdict(np.arange(10, 110))
    gap = compare.measure_gap((plain, flips), LABELS)
    assert gap.points == pytest.approx(100 * (90 - 10) / 1000)
    assert gap.points == pytest.approx(100 * (plain.accuracy - flips.accuracy))
    assert gap.low < gap.points < gap.high
    assert gap.clear


def test_the_interval_holds_the_truth_in_95_of_100_cases():
    random, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        n = 300
        kind = random.choice(4, n, p=[0.8, 0.1, 0.04, 0.06])  # both right, only plain, only flips, both wrong
        labels = np.zeros(n, int)
        plain, flips = (verdict_of(1 - np.isin(kind, right).astype(int), labels) for right in ([0, 1], [0, 2]))
        gap = compare.measure_gap((plain, flips), labels)
        covered += gap.low <= 6 <= gap.high
    assert 930 <= covered <= 970


def test_twins_that_agree_are_too_close_to_tell():
    gap = compare.measure_gap((verdict([]), verdict([])), LABELS)
    assert gap.low < 0 < gap.high
    assert not gap.clear


def test_twins_are_compared_at_the_same_step_and_on_the_same_images():
    plain = [verdict([], step=0), verdict([], step=100), verdict([], step=200)]
    flips = [verdict([], step=0), verdict([], step=100)]
    assert [report.step for report in compare.latest_verdicts(plain, flips)] == [100, 100]
    assert compare.latest_verdicts(plain[:1], flips) is None
    assert compare.latest_verdicts(plain, []) is None


def test_twins_with_other_steps_are_compared_after_the_same_epoch():
    first = [verdict([], step=50, whole=True), verdict([], step=70)]
    second = [replace(verdict([0]), step=25, epoch=1.0), replace(verdict([0]), step=30, epoch=1.2)]
    found = compare.latest_verdicts(first, second)
    assert [report.step for report in found] == [50, 25]
    assert compare.measure_gap(found, LABELS).when == "after epoch 1"


def test_verdicts_on_other_images_or_classes_do_not_fit():
    verdicts = (verdict([]), verdict([]))
    assert compare.fit(verdicts, LABELS, 10)
    assert not compare.fit(verdicts, LABELS[:500], 10)
    assert not compare.fit(verdicts, LABELS, 7)


def test_the_mixup_that_grows_most_comes_first_with_the_images_behind_it():
    twos, sevens = np.flatnonzero(LABELS == 2), np.flatnonzero(LABELS == 7)
    verdicts = verdict(twos[:2]), verdict(np.concatenate([sevens[:5], twos[:30]]))
    first, second = compare.grown_mixups(verdicts)
    assert (first.one, first.other, first.first, first.second) == (2, 3, 2, 30)
    assert (second.one, second.other, second.first, second.second) == (3, 7, 0, 5)
    chosen = compare.misread(verdicts, LABELS, [first, second])
    assert chosen == [twos[2], sevens[0], twos[3], sevens[1], twos[4], sevens[2]]


def test_time_left_follows_the_pace_of_the_last_reports():
    pace = compare.pace([training_line(step) for step in range(10, 110, 10)], steps=200)
    assert pace.seconds_left == pytest.approx(10.0)
    assert compare.pace([], steps=200) is None


def test_the_first_report_alone_tells_the_time_left():
    assert compare.pace([training_line(10, seconds=2.0)], steps=200).seconds_left == pytest.approx(38.0)
    assert [duration(seconds) for seconds in (42, 600, 7200)] == ["42 s", "10 min", "2.0 h"]


def test_a_checkpoint_goes_with_the_verdict_of_its_epoch():
    reports = [verdict([], step=0), verdict([], step=25), verdict([], step=50, whole=True), training_line(60),
               verdict([], step=100, whole=True)]
    assert [compare.verdict_after(reports, epoch).step for epoch in (0, 1, 2)] == [0, 50, 100]
    assert compare.verdict_after(reports, 3) is None
    assert compare.epochs_done(reports) == 2
    assert compare.epochs_done([]) == 0


def test_what_changed_is_written_in_words():
    before = TrainConfig(model=ViTConfig(), train_images=None, learning_rate=1e-3)
    now = TrainConfig(model=ViTConfig(depth=2), train_images=20_000, learning_rate=3e-3, flips=True)
    assert compare.what_changed(now, before) == (
        "train images all → 20,000, learning rate 0.001 → 0.003, depth 10 → 2"
    )
    assert compare.what_changed(now, now) == "nothing: the same run again"
