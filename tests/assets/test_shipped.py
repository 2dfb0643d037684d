"""What lies in assets/ keeps what the project says of it."""

import json

import pytest

from benchmarks.report import logits_of
from vit import checkpoints, data
from vit.config import PRESETS
from vit.shipped import SHIPPED, shipped_in
from vit.studies import article
from vit.ui.models import RECORDED

EXPLORER = checkpoints.SHIPPED["explorer"]


@pytest.fixture(scope="module")
def explorer():
    return checkpoints.load("explorer")


def test_the_explorer_has_the_article_s_architecture(explorer):
    assert explorer.config == PRESETS["article"]
    assert sum(parameter.numel() for parameter in explorer.parameters()) == 1_992_970


def test_the_explorer_is_small_enough_to_travel():
    assert sum(file.stat().st_size for file in EXPLORER.parent.iterdir()) < 10_000_000


def test_the_explorer_reads_digits_it_has_never_seen(explorer):
    images, labels = data.load("mnist", "test")
    right = logits_of(explorer, images[:300]).argmax(1) == labels[:300]
    assert right.mean() > 0.97


def test_the_mistakes_on_show_are_mistakes(explorer):
    images, labels = data.load("mnist", "test")
    mistakes = json.loads((EXPLORER.parent / "mistakes.json").read_text())[:8]
    assert len(mistakes) >= 4
    assert (logits_of(explorer, images[mistakes]).argmax(1) != labels[mistakes]).all()


def test_the_details_tell_each_epoch_and_the_accuracy_it_led_to():
    details = checkpoints.details("explorer")
    assert [line.epoch for line in details.epochs] == list(range(1, len(details.epochs) + 1))
    assert details.test_accuracy > 0.98


def test_the_article_s_models_ship_once_they_are_recorded(tmp_path):
    assert list(shipped_in(tmp_path)) == ["explorer"]
    (tmp_path / "article").mkdir()
    (tmp_path / "article" / "flips.safetensors").touch()
    assert list(shipped_in(tmp_path)) == ["explorer", "article-flips"]


@pytest.mark.parametrize("name", [name for name in RECORDED if name in SHIPPED])
def test_the_article_s_models_have_its_architecture_and_read_as_recorded(name):
    model, recipe = checkpoints.load(name), article.read()
    assert model.config == PRESETS["article"]
    run = recipe.flips if checkpoints.details(name).flips else recipe.plain
    images, labels = data.load("mnist", "test")
    some = labels[:1000]
    answers = logits_of(model, images[:1000]).argmax(1)
    assert 100 * (answers == some).mean() == pytest.approx(run.test_accuracy, abs=3)
