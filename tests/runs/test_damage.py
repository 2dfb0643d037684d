"""Damage in one run's folder: it is told, in one line, and takes nothing from the others. Cases are generated."""

import errno
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import folder as folders
from vit.runs import status
from vit.runs.state import UNREADABLE

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)
WRONG = [None, [], {}, "no date", "[x](https://evil.example)", -1, 1e30, 10**400, float("nan"), float("inf"), True]


def recorded():
    return {"train": asdict(CONFIG), "preset": "quick", "pair": "damaged", "created": 1e9, "threads": 1}


def wrong_configs():
    """config.json with each of its values wrong, or left out, and files that are no such thing."""
    whole = recorded()
    for name in whole:
        yield f"without {name}", json.dumps({key: value for key, value in whole.items() if key != name})
        for number, wrong in enumerate(WRONG):
            yield f"{name} wrong {number}", json.dumps(whole | {name: wrong})
    for name in asdict(CONFIG):
        for number, wrong in enumerate(WRONG):
            yield f"train {name} wrong {number}", json.dumps(whole | {"train": whole["train"] | {name: wrong}})
    for name in asdict(CONFIG.model):
        for number, wrong in enumerate(WRONG):
            train = whole["train"] | {"model": whole["train"]["model"] | {name: wrong}}
            yield f"model {name} wrong {number}", json.dumps(whole | {"train": train})
    for number, text in enumerate(["", "{", "[]", "null", "3", '"text"', "{}", "[" * 20_000, "\x00\x01"]):
        yield f"text {number}", text


def test_no_config_takes_the_list_from_the_others(root):
    good = runs.create(CONFIG, pair_id="good")
    damaged = root / "damaged-plain"
    damaged.mkdir()
    refused = 0
    for name, text in wrong_configs():
        (damaged / "config.json").write_text(text)
        shown, told = runs.list_runs(), runs.unreadable()
        assert good.name in {run.id for run in shown}, name
        assert {run.id for run in shown} | {folder for folder, _ in told} == {good.name, damaged.name}, name
        for run in shown:  # what is shown is of the right types
            assert isinstance(run.pair, str), name
            assert isinstance(run.preset, str), name
            assert 0 <= run.created < 1e12, name
            assert isinstance(run.config.flips, bool), name
        for _, sentence in told:
            assert sentence.startswith("Its config.json"), name
            assert "\n" not in sentence, name
            refused += 1
        assert [run.id for run in runs.pair("good")] == [good.name]
    assert refused > 200


def test_files_that_are_no_text_at_all_are_told(root):
    damaged = runs.create(CONFIG, pair_id="damaged")
    (damaged / "config.json").write_bytes(b"\xff\xfe\x00")
    assert runs.list_runs() == []
    assert len(runs.unreadable()) == 1
    (damaged / "config.json").unlink()
    assert runs.unreadable() == [(damaged.name, "It has no config.json: perhaps it was only half deleted.")]
    (damaged / "config.json").mkdir()
    assert [name for name, _ in runs.unreadable()] == [damaged.name]


def test_what_cannot_be_read_can_be_deleted(root):
    for text in ("[]", None):
        damaged = runs.create(CONFIG, pair_id="damaged")
        if text is None:
            (damaged / "config.json").unlink()
        else:
            (damaged / "config.json").write_text(text)
        runs.delete(damaged.name)
        assert runs.unreadable() == []
        assert not damaged.exists()


def test_a_folder_that_may_not_be_looked_into_takes_nothing_from_the_others(root, monkeypatch):
    good, shut = (runs.create(CONFIG, pair_id=name) for name in ("good", "shut"))

    def refuse(original):
        def look(path, *arguments, **options):
            if path.parent == shut:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return original(path, *arguments, **options)
        return look

    for name in ("stat", "open"):
        monkeypatch.setattr(Path, name, refuse(getattr(Path, name)))
    assert [run.id for run in runs.list_runs()] == [good.name]
    assert [name for name, _ in runs.unreadable()] == [shut.name]
    assert runs.waiting() == []
    assert runs.busy() == set()


def wrong_statuses():
    whole = {"state": "queued", "reason": "", "since": 1e9, "server": "here"}
    for name in whole:
        for number, wrong in enumerate([*WRONG, 3]):
            good = isinstance(wrong, str) if name in ("reason", "server") else (name, wrong) == ("since", 3)
            if not good:
                yield f"{name} {number}", json.dumps(whole | {name: wrong})
    for number, text in enumerate(["", "{", "{}", "[]", "null", "3", '"text"', '{"state": "dancing"}', "[" * 20_000]):
        yield f"text {number}", text


def test_no_status_ends_in_an_error_and_each_is_a_state(root):
    folder = runs.create(CONFIG)
    for name, text in wrong_statuses():
        (folder / "status.json").write_text(text)
        run = runs.get(folder.name)
        assert (run.state, run.reason) == ("interrupted", UNREADABLE), name
        assert run.resumable
        assert runs.waiting() == []
        assert runs.place_in_queue(run) == 1
        with runs.locked(folder):
            assert runs.get(folder.name).state == "running"
    (folder / "status.json").unlink()
    assert runs.get(folder.name).state == "interrupted"


@pytest.mark.parametrize("content", [b"", b"dance", b"until", b"until x", b"until -1", b"\xff", b"until " + b"9" * 99])
def test_a_control_file_that_says_nothing_known_means_run(root, content):
    folder = runs.create(CONFIG)
    (folder / "control").write_bytes(content)
    assert runs.read_control(folder) == "run"


@pytest.mark.parametrize("fails_at", range(1, 5))
def test_a_full_disk_at_the_start_leaves_nothing_behind_and_is_told_in_words(root, monkeypatch, fails_at):
    writes = []

    def full(path, content):
        writes.append(path)
        if len(writes) == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(content)

    for file in (folders, status):
        monkeypatch.setattr(file, "write_atomically", full)
    with pytest.raises(runs.RunError, match="The disk is full") as refusal:
        runs.create_twins(CONFIG)
    assert "Errno" not in str(refusal.value)
    assert list(root.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told_in_words(root, monkeypatch):
    in_the_way = root / "file"
    in_the_way.touch()
    monkeypatch.setenv("PATCHWISE_RUNS", str(in_the_way / "runs"))
    with pytest.raises(runs.RunError, match="The run could not be started") as refusal:
        runs.create_twins(CONFIG)
    assert "Errno" not in str(refusal.value)
    assert runs.list_runs() == runs.unreadable() == runs.waiting() == []


def test_a_folder_that_cannot_be_deleted_is_told_in_words(root, monkeypatch):
    folder = runs.create(CONFIG)

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(runs.RunError, match=r"could not be deleted\. The server may not write") as refusal:
        runs.delete(folder.name)
    assert "Errno" not in str(refusal.value)
