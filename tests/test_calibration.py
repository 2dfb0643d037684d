"""How often a model is right when it is how sure: counted, kept in a file, and drawn."""

import json

import numpy as np
import pytest
import torch

from vit import calibration, checkpoints, data
from vit.calibration import Bin, Calibration
from vit.charts import calibration as charts


@pytest.fixture
def measured():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.full(10, 0.2), 2000)
    labels = np.where(generator.random(2000) < 0.8, probabilities.argmax(1), generator.integers(0, 10, 2000))
    return probabilities, labels, calibration.measure(probabilities, labels, "2,000 made-up images", 0.1)


def test_every_answer_is_counted_in_the_bin_of_its_confidence(measured):
    probabilities, labels, found = measured
    assert sum(part.images for part in found.bins) == found.images == 2000
    assert sum(part.right for part in found.bins) == found.right == (probabilities.argmax(1) == labels).sum()
    for part in found.bins:
        inside = (probabilities.max(1) >= part.low) & (probabilities.max(1) < part.high)
        assert part.images == inside.sum()
        assert part.interval[0] <= part.accuracy <= part.interval[1]


def test_what_is_written_beside_the_weights_is_read_again(measured, tmp_path):
    weights = tmp_path / "model.safetensors"
    assert calibration.beside(weights) is None
    calibration.write(measured[2], weights)
    assert calibration.beside(weights) == measured[2]


@pytest.mark.parametrize("damage", [
    "", "{}", "[]", "null", '{"bins": 3}', '{"measured_on": "x", "images": 1, "right": 2, "smoothing": 0, "bins": []}',
    '{"measured_on": "x", "images": 1, "right": 1, "smoothing": 0, '
    '"bins": [{"low": 0.5, "high": 0.4, "images": 1, "right": 1}]}',
    '{"measured_on": "x", "images": 1, "right": 1, "smoothing": NaN, '
    '"bins": [{"low": 0.5, "high": 0.6, "images": 0, "right": 0}]}',
])
def test_a_damaged_file_is_as_none(tmp_path, damage):
    (tmp_path / calibration.FILE).write_text(damage)
    assert calibration.beside(tmp_path / "model.safetensors") is None


def test_the_shipped_record_is_of_the_shipped_model():
    found = calibration.beside(checkpoints.SHIPPED["explorer"])
    assert found.images == 10_000
    assert found.accuracy == pytest.approx(checkpoints.details("explorer").test_accuracy)
    assert sum(part.images for part in found.bins) == found.images
    assert sum(part.right for part in found.bins) == found.right


def test_the_shipped_model_is_as_sure_of_its_mistakes_as_the_record_says():
    shipped = checkpoints.SHIPPED["explorer"]
    images, labels = data.load("mnist", "test")
    wrong = json.loads((shipped.parent / "mistakes.json").read_text())
    with torch.inference_mode():
        probabilities = checkpoints.load(shipped)(data.normalise(images[wrong])).softmax(-1).numpy()
    again = calibration.measure(probabilities, labels[wrong], "its mistakes", 0)
    assert again.right == 0
    recorded = {part.low: part.images - part.right for part in calibration.beside(shipped).bins}
    assert {low: count for low, count in recorded.items() if count} == {part.low: part.images for part in again.bins}


SMALL = Calibration("40 images", 40, 38, 0.05, (Bin(0.5, 0.55, 10, 9), Bin(0.95, 1.0, 30, 29)))


def test_the_words_tell_target_and_how_often_it_is_right_when_as_sure():
    told = " ".join(charts.in_words(SMALL, 0.52, unsure_below=0.4, classes=10))
    assert "reads **95.00%** of 40 images, and gives your drawing **52.0%**" in told
    assert "but 95.5%, and each other 0.5%" in told
    assert "Of the 10 images on which it was 50% to 55% sure, as here, it read **90.0%** right" in told
    assert "*not sure* below 40%" in told
    assert "None of these images left it as sure" in " ".join(charts.in_words(SMALL, 0.7, 0.4, 10))


def test_the_curve_marks_the_drawing_among_those_as_sure():
    figure = charts.curve(SMALL, 0.97, dark=False).figure
    points = figure.data[1]
    assert list(points.y) == pytest.approx([0.9, 29 / 30])
    assert points.hovertext[0] == "50% to 55% sure: 9 of 10 right (90.0%)"
    assert figure.layout.shapes[0].x0 == 0.97
    assert points.marker.color[1] != points.marker.color[0]


def test_the_file_is_plain_json(measured, tmp_path):
    calibration.write(measured[2], tmp_path / "model.safetensors")
    assert json.loads((tmp_path / calibration.FILE).read_text())["measured_on"] == "2,000 made-up images"
