"""Damaged run folders, and words from outside: the training page stays, and says what is wrong."""

import json
import re

import pytest

from tests.support.train_page import choose_rows, finished_twins, html, twins_that_ended, words
from tests.support.verdicts import verdict
from vit import reports, runs

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
