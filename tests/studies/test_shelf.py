"""Results as pages read them: once for each file, and without torch."""

import os
import subprocess
import sys

import pytest

from tests.support.studies import shelve
from vit.studies import shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.running import PROJECT

FLIPS = CATALOGUE["flips-hurt"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "FOLDER", tmp_path)
    return tmp_path


def test_a_file_is_read_once_and_again_when_it_has_changed(folder):
    shelve(folder, "flips-hurt")
    first = shelf.result_of(FLIPS).result
    assert first is shelf.result_of(FLIPS).result
    path = folder / "flips-hurt.json"
    path.write_text(path.read_text().replace('"a processor"', '"another"'))
    assert shelf.result_of(FLIPS).result.made.processor == "another"


def test_what_is_not_there_is_no_problem_and_what_is_damaged_is_a_sentence(folder):
    assert shelf.result_of(FLIPS) == shelf.Shelved(None)
    shelve(folder, "flips-hurt")
    path = folder / "flips-hurt.json"
    path.write_bytes(path.read_bytes()[:1000])
    assert shelf.result_of(FLIPS).result is None
    assert "cut off" in shelf.result_of(FLIPS).problem


def test_the_page_of_claims_is_read_without_torch():
    code = ("import sys; from vit.ui.panels.claims import here, listing, opened; from vit.studies import shelf; "
            "[shelf.result_of(study) for study in listing.STUDIES]; listing.told(); "
            "assert 'torch' not in sys.modules, 'torch'; assert 'scipy' not in sys.modules, 'scipy'")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT, env=os.environ | {"PYTHONPATH": str(PROJECT)})
