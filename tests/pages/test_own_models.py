"""Models from the host's folder: in the sidebar, in About, on every page; and what else may lie in that folder."""

import pickle
import struct
from dataclasses import replace

import pytest
import torch

from tests.pages.conftest import PATH
from tests.support.models import SMALL
from vit import checkpoints
from vit.caches import SizedCache
from vit.details import Details, Preparation
from vit.ui import models

THOUSAND = replace(SMALL, channels=3, image_size=32, patch_size=8, classes=1000, variant="eps-1e-12")
DETAILS = Details(
    origin="timm · vit_[x](http://x)", classes=tuple(f"thing {n}" for n in range(1000)),
    preparation=Preparation(36, 32, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_MODELS", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    yield tmp_path / "models"
    models.forget()


@pytest.fixture
def own(folder, lively):
    checkpoints.save(lively(THOUSAND), folder / "mine.safetensors", DETAILS.as_json())
    return "own:mine"


def words(visitor):
    return "\n".join(element.value for kind in ("markdown", "caption") for element in visitor.get(kind))


@pytest.mark.parametrize("page", [*PATH, "what_if"])
def test_every_page_opens_a_colour_model_of_a_thousand_classes(page, own, open_app):
    visitor = open_app(page, d="s0", model=own)
    assert not visitor.exception
    assert [warning.value for warning in visitor.warning] == []
    assert "It knows 1\\,000 classes\\; its answer" in words(visitor)


def test_the_sidebar_offers_the_models_of_the_folder(own, folder, open_app):
    (folder / "notes.txt").write_text("not a model")
    visitor = open_app("patches", d="s0")
    pills = next(group for group in visitor.get("button_group") if group.label == "model")
    assert pills.options[-1] == "mine"
    assert len(pills.options) == len(models.NAMES) + 1


def test_about_tells_whose_weights_they_are_and_how_pictures_are_prepared(own, open_app):
    visitor = open_app("patches", d="s0", model=own)
    next(button for button in visitor.button if button.label == "About this model").click().run()
    told = words(visitor)
    assert "timm · vit\\_\\[x\\]" in told
    assert "the shorter side becomes 36 pixels long and the middle 32 x 32 are cut out" in told
    assert "the mean (0.5, 0.5, 0.5) is taken away" in told
    assert "thing 0\\, thing 1" in told


def test_the_whole_table_goes_with_the_chosen_model(own, open_app):
    visitor = open_app("embedding", d="s0", model=own)
    visitor.session_state.panels = {"embedding": "the-whole-table"}
    visitor.run()
    assert not visitor.exception
    assert f"{THOUSAND.parameters:,}" in "".join(str(element.proto) for element in visitor.get("html"))


@pytest.mark.parametrize("content", [
    b"", b"PK\3\4" + bytes(50), pickle.dumps({"a": 1}), struct.pack("<Q", 2**62) + b"{}",
    struct.pack("<Q", 2) + b"{}",
], ids=["empty", "zip", "pickle", "lying header", "no weights"])  # fmt: skip
def test_a_file_in_the_folder_that_is_no_model_gets_a_sentence(content, folder, open_app):
    (folder / "broken.safetensors").write_bytes(content)
    visitor = open_app(d="s0", model="own:broken")
    assert not visitor.exception
    assert "explorer" in visitor.warning[0].value


def test_weights_that_were_not_imported_yet_are_told_the_way(folder, open_app):
    checkpoints.write_tensors(folder / "raw.safetensors", {"cls_token": torch.zeros(1)}, {"format": "pt"})
    visitor = open_app(d="s0", model="own:raw")
    assert "vit\\.import\\_weights" in visitor.warning[0].value


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "mine/../../secret", "", ".hidden"])
def test_a_link_reaches_nothing_outside_the_folder(name, own, folder, lively):
    checkpoints.save(lively(SMALL), folder.parent / "secret.safetensors")
    with pytest.raises(ValueError, match="There is no model of the name"):
        models.find(f"own:{name}")


def test_a_model_whose_weights_would_not_fit_is_refused_by_what_it_declares(own, folder, monkeypatch):
    """In half precision the file is smaller than what it becomes in memory."""
    checkpoints.save(checkpoints.load(folder / "mine.safetensors"), folder / "mine.safetensors", half=True)
    size = (folder / "mine.safetensors").stat().st_size
    monkeypatch.setattr(models, "_models", SizedCache(size + 1000, models._size_of_model))
    with pytest.raises(ValueError, match="MB is the most that can be looked into here"):
        models.load(own)
