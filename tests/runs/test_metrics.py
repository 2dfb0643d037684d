"""What readers make of metrics.jsonl and batch.npz, whatever is in them."""

import json
import math
import os

import numpy as np
import pytest

from vit import runs
from vit.reports import StepReport, Validation, from_line, to_line


def step(number):
    return StepReport(step=number, epoch=0.5, loss=2.0, accuracy=0.1, learning_rate=0.001, seconds=3.0)


def lines(*numbers):
    return b"".join(to_line(step(number)) for number in numbers)


VERDICT = Validation(step=7, epoch=1.0, images=3, loss=1.5, accuracy=2 / 3, confusion=[[2, 1], [0, 0]],
                     predictions="001", whole=True, train_loss=1.6, train_accuracy=0.5, mirrored_accuracy=0.25,
                     mirrored_by_class=[0.5, 0.0])


def steps(feed):
    return [report.step for report in feed.read()]


def test_metrics_are_read_as_they_grow_and_a_half_line_waits(tmp_path):
    path, feed = tmp_path / "metrics.jsonl", runs.Feed(tmp_path)
    assert feed.read() == []
    everything = lines(1, 2, 3)
    path.write_bytes(everything[:-9])
    assert steps(feed) == [1, 2]
    path.open("ab").write(everything[-9:])
    assert feed.read() == [step(1), step(2), step(3)]


def test_metrics_that_a_resumed_run_rewrote_are_read_again(tmp_path):
    path, feed = tmp_path / "metrics.jsonl", runs.Feed(tmp_path)
    path.write_bytes(lines(1, 2))
    feed.read()
    fresh = tmp_path / "fresh"
    fresh.write_bytes(lines(1, 20, 30))
    os.replace(fresh, path)
    assert steps(feed) == [1, 20, 30]


def test_lines_of_runs_of_old_are_read(tmp_path):
    old = ('{"kind": "validation", "step": 0, "epoch": 0.0, "images": 2, "loss": 2.3, "accuracy": 0.5, '
           '"confusion": [[1, 1], [0, 0]], "predictions": "01", "seconds": 1.5}\n'
           '{"kind": "train", "step": 10, "epoch": 0.1, "loss": 2.1, "accuracy": 0.2, "learning_rate": 1e-05, '
           '"seconds": 9.3, "images_per_second": 34.4}\n'
           '{"kind": "note", "step": 10, "message": "slow", "seconds": 9.4}\n'
           '{"kind": "end", "step": 10, "reason": "done", "seconds": 9.5}\n')
    (tmp_path / "metrics.jsonl").write_text(old)
    read = runs.Feed(tmp_path).read()
    assert [report.kind for report in read] == ["validation", "train", "note", "end"]
    assert runs.last_verdict(tmp_path) == read[0]
    written = [json.loads(to_line(report)) for report in read]
    assert all(before.items() <= now.items() for before, now in zip(map(json.loads, old.splitlines()), written,
                                                                    strict=True))


def damaged_lines():
    """A good line of each kind with one value changed at a time, and lines that are none."""
    for good in (step(1), VERDICT):
        values = json.loads(to_line(good))
        for name in values:
            for wrong in (None, [], {}, "no", math.nan, math.inf, -math.inf, True, [[1]], 10**400):
                if not (name == "kind" and wrong is None) and not (name == "whole" and wrong is True):
                    yield json.dumps(values | {name: wrong}).encode()
            yield json.dumps({key: value for key, value in values.items() if key != name}).encode()
        yield to_line(good)[:-20]
    yield from (b"", b"null", b"[]", b"{}", b"3", b"\xff\xfe", b"[" * 5000, b'{"kind": "train"}')


def test_no_damage_of_a_line_ends_in_an_error_or_in_a_number_that_is_none(tmp_path):
    damage = list(damaged_lines())
    (tmp_path / "metrics.jsonl").write_bytes(b"\n".join([*damage, lines(8)]))
    read = runs.Feed(tmp_path).read()
    assert read[-1] == step(8)
    assert b"NaN" not in b"".join(map(to_line, read))
    assert b"Infinity" not in b"".join(map(to_line, read))
    assert len(read) < len(damage) / 5  # what may be left out was left out, or the value was a good one
    runs.last_verdict(tmp_path)


def test_the_last_verdict_is_the_last_whole_one(tmp_path):
    broken = to_line(VERDICT).replace(b'"accuracy": 0.6666666666666666, ', b"")
    assert from_line(broken) is None
    (tmp_path / "metrics.jsonl").write_bytes(lines(1) + to_line(VERDICT) + lines(9) + broken + to_line(VERDICT)[:50])
    assert runs.last_verdict(tmp_path) == VERDICT
    assert runs.last_verdict(tmp_path / "nowhere") is None


@pytest.mark.parametrize("shape", [(4, 28, 28), (4, 32, 32, 3)])
def test_a_batch_comes_back_and_no_cut_of_it_ends_in_an_error(tmp_path, shape):
    batch = runs.ShownBatch(12, np.arange(np.prod(shape)).astype(np.uint8).reshape(shape), np.array([1, 0, 0, 1], bool))
    assert runs.read_batch(tmp_path) is None
    runs.write_batch(tmp_path, batch)
    read = runs.read_batch(tmp_path)
    assert read.step == 12
    assert (read.images == batch.images).all()
    assert (read.mirrored == batch.mirrored).all()
    whole = (tmp_path / "batch.npz").read_bytes()
    for length in range(0, len(whole), 211):
        (tmp_path / "batch.npz").write_bytes(whole[:length])
        assert runs.read_batch(tmp_path) is None


@pytest.mark.parametrize("change", [
    {"step": "a"}, {"images": np.zeros((4, 28, 28))}, {"images": np.zeros(4, np.uint8)},
    {"mirrored": np.zeros(3, bool)}, {"mirrored": np.zeros(4)}, {"images": np.zeros((0, 28, 28), np.uint8)},
    {"images": np.zeros((4, 28, 28, 2), np.uint8)},
])
def test_what_is_no_batch_is_none(tmp_path, change):
    good = {"step": 1, "images": np.zeros((4, 28, 28), np.uint8), "mirrored": np.zeros(4, bool)}
    np.savez(tmp_path / "batch.npz", **(good | change))
    assert runs.read_batch(tmp_path) is None
