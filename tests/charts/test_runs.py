"""Metrics to charts and sentences: the numbers must be those of the run."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest

from vit import run_exports, runs
from vit.charts import runs as run_charts
from vit.charts.numbers import duration, with_sign
from vit.charts.runs import Line
from vit.config import TrainConfig, ViTConfig
from vit.datasets import DATASETS

LABELS = np.arange(1000) % 10


def verdict(wrong, step=100, answer=3):
    """A validation report with wrong answers for the images named."""
    predictions = LABELS.copy()
    predictions[wrong] = np.where(LABELS[wrong] == answer, (answer + 1) % 10, answer)
    confusion = np.bincount(LABELS * 10 + predictions, minlength=100).reshape(10, 10)
    return {
        "kind": "validation", "step": step, "epoch": step / 50, "seconds": step / 10, "images": 1000,
        "loss": 0.5, "accuracy": float((predictions == LABELS).mean()), "confusion": confusion.tolist(),
        "predictions": "".join(map(str, predictions)),
    }


def training_line(step, loss=1.0):
    return {"kind": "train", "step": step, "epoch": step / 50, "seconds": step / 10, "loss": loss,
            "accuracy": 0.5, "images_per_second": 640.0}


def test_the_gap_counts_only_images_that_the_twins_judge_differently():
    plain, flips = verdict(np.arange(0, 20)), verdict(np.arange(10, 110))
    gap = run_charts.measure_gap(plain, flips, LABELS)
    assert gap.points == pytest.approx(100 * (90 - 10) / 1000)
    assert gap.points == pytest.approx(100 * (plain["accuracy"] - flips["accuracy"]))
    assert gap.low < gap.points < gap.high
    assert gap.clear


def test_the_interval_holds_the_truth_in_95_of_100_cases():
    random, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        n = 300
        kind = random.choice(4, n, p=[0.8, 0.1, 0.04, 0.06])  # both right, only plain, only flips, both wrong
        labels = np.zeros(n, int)
        plain, flips = (
            {"predictions": "".join("0" if hit else "1" for hit in np.isin(kind, right)), "step": 1}
            for right in ([0, 1], [0, 2])
        )
        gap = run_charts.measure_gap(plain, flips, labels)
        covered += gap.low <= 6 <= gap.high
    assert 930 <= covered <= 970


def test_twins_that_agree_are_too_close_to_tell():
    gap = run_charts.measure_gap(verdict([]), verdict([]), LABELS)
    assert gap.low < 0 < gap.high
    assert "Too close to tell" in run_charts.lesson(gap)


def test_the_lesson_states_gap_interval_and_images():
    gap = run_charts.measure_gap(verdict([]), verdict(np.arange(100)), LABELS)
    sentence = run_charts.lesson(gap)
    assert "hurts" in sentence
    assert "+10.0 points" in sentence
    assert f"between {with_sign(gap.low, 1)} and {with_sign(gap.high, 1)}" in sentence
    assert "1,000 validation images after 100 steps" in sentence
    helped = run_charts.measure_gap(verdict(np.arange(100)), verdict([]), LABELS)
    assert "Flipping helps" in run_charts.lesson(helped, "fashion-mnist")
    assert "few seconds" in run_charts.lesson(None, training=True)
    assert "no results" in run_charts.lesson(None)


def test_twins_are_compared_at_the_same_step_and_on_the_same_images():
    plain = [verdict([], step=0), verdict([], step=100), verdict([], step=200)]
    flips = [verdict([], step=0), verdict([], step=100)]
    assert [report["step"] for report in run_charts.latest_verdicts(plain, flips)] == [100, 100]
    assert run_charts.latest_verdicts(plain[:1], flips) is None
    assert run_charts.latest_verdicts(plain, []) is None


def test_curves_end_in_the_last_point_however_long_the_run():
    reports = [training_line(step, loss=1 / step) for step in range(1, 5000)]
    chart = run_charts.curves([Line("without flips", False, reports)], "loss", "step")
    points = chart["lines"][0]["points"]
    assert len(points) <= run_charts.MOST_POINTS
    assert points[0] == [1, 1.0]
    assert points[-1] == [4999, round(1 / 4999, 4)]


def test_curves_have_both_twins_training_and_validation_and_the_line_of_guessing():
    reports = [training_line(10), verdict([], step=10)]
    lines = [Line(run_charts.NAMES[flips], flips, reports) for flips in (False, True)]
    for quantity, guess in (("loss", 2.3026), ("accuracy", 10)):
        chart = run_charts.curves(lines, quantity, "seconds")
        assert [one["name"] for one in chart["lines"]] == [
            "without flips · training", "without flips · validation",
            "with flips · training", "with flips · validation",
        ]
        assert chart["guess"]["value"] == pytest.approx(guess)
        assert chart["lines"][0]["points"][0][0] == 1.0
        assert {(one["colour"], one["dashed"]) for one in chart["lines"]} == {
            (run_charts.NO_FLIP, False), (run_charts.FLIP, True)
        }
        json.dumps(chart)


def test_bars_show_accuracy_per_digit_and_the_change_that_flips_bring():
    twos = np.flatnonzero(LABELS == 2)
    chart = run_charts.class_bars(verdict([]), verdict(twos[:30]), DATASETS["mnist"].classes)
    assert chart["series"][0]["data"] == [100.0] * 10
    assert chart["series"][1]["data"][2] == 70.0
    assert chart["xAxis"]["data"][2] == "2\n−30"
    json.dumps(chart)


def test_the_mixup_that_grows_most_comes_first_with_the_images_behind_it():
    twos, sevens = np.flatnonzero(LABELS == 2), np.flatnonzero(LABELS == 7)
    plain, flips = verdict(twos[:2]), verdict(np.concatenate([sevens[:5], twos[:30]]))
    first, second = run_charts.grown_mixups(plain, flips)
    assert (first.one, first.other, first.plain, first.flips) == (2, 3, 2, 30)
    assert (second.one, second.other, second.plain, second.flips) == (3, 7, 0, 5)
    chosen = run_charts.misread(plain, flips, LABELS, [first, second])
    assert chosen == [twos[2], sevens[0], twos[3], sevens[1], twos[4], sevens[2]]


def test_the_strip_frames_mirrored_images_only():
    images = np.full((10, 28, 28), 200, np.uint8)
    strip = run_charts.batch_strip(images, np.arange(10) == 1, columns=8)
    assert strip.shape == (2 * 32, 8 * 32, 3)
    assert strip[0, 32].tolist() == [0xE0, 0x7B, 0x00]
    assert strip[0, 0].tolist() == strip[0, 64].tolist() != strip[0, 32].tolist()
    assert (strip[2:30, 34:62] == 200).all()
    coloured = np.zeros((3, 32, 32, 3), np.uint8)
    assert run_charts.batch_strip(coloured, np.zeros(3, bool)).shape == (36, 16 * 36, 3)


def test_time_left_follows_the_pace_of_the_last_reports():
    pace = run_charts.pace([training_line(step) for step in range(10, 110, 10)], steps=200)
    assert pace.seconds_left == pytest.approx(10.0)
    assert run_charts.pace([], steps=200) is None


def test_the_first_report_alone_tells_the_time_left():
    first = training_line(10) | {"seconds": 2.0}
    assert run_charts.pace([first], steps=200).seconds_left == pytest.approx(38.0)
    assert [duration(seconds) for seconds in (42, 600, 7200)] == ["42 s", "10 min", "2.0 h"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    model = ViTConfig(patch_size=14, width=8, depth=1, heads=2)
    folder = runs.create(TrainConfig(model=model), pair_id="exported")
    lines = [training_line(10), verdict([0], step=10), training_line(20)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return runs.read_run(folder)


def test_metrics_as_csv_have_a_row_per_report_and_accuracy_per_digit(run):
    rows = list(csv.DictReader(io.StringIO(run_exports.as_csv(run))))
    assert [row["kind"] for row in rows] == ["train", "validation", "train"]
    assert [row["step"] for row in rows] == ["10", "10", "20"]
    assert rows[1]["accuracy_of_0"] == "0.99"
    assert rows[1]["accuracy_of_1"] == "1.0"
    assert rows[0]["accuracy_of_0"] == ""


def test_tensorboard_events_hold_the_scalars(run):
    from tensorboardX.proto.event_pb2 import Event

    archive = zipfile.ZipFile(io.BytesIO(run_exports.as_tensorboard(run)))
    (name,) = archive.namelist()
    assert name.startswith(f"{run.id}/events.out.tfevents")
    content, found = archive.read(name), {}
    while content:  # length, its checksum, the event, its checksum
        length = int.from_bytes(content[:8], "little")
        event = Event.FromString(content[12 : 12 + length])
        for value in event.summary.value:
            found[value.tag, event.step] = value.simple_value
        content = content[16 + length :]
    assert found["train/loss", 20] == 1.0
    assert found["validation/accuracy", 10] == pytest.approx(0.999)


def test_what_changed_is_written_in_words():
    before = TrainConfig(model=ViTConfig(), train_images=None, learning_rate=1e-3)
    now = TrainConfig(model=ViTConfig(depth=2), train_images=20_000, learning_rate=3e-3, flips=True)
    assert runs.what_changed(now, before) == (
        "train images all → 20,000, learning rate 0.001 → 0.003, depth 10 → 2"
    )
    assert runs.what_changed(now, now) == "nothing: the same run again"


def test_only_digits_are_called_by_their_numbers():
    for dataset in DATASETS:
        names = DATASETS[dataset].classes
        assert len(set(names)) == 10
        assert (names == tuple("0123456789")) == (dataset == "mnist")
