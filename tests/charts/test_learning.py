import pytest

from vit import checkpoints
from vit.charts import learning
from vit.details import Epoch


def epochs_of(*accuracies):
    return [Epoch(number, train, validation) for number, (validation, train) in enumerate(accuracies, start=1)]


@pytest.mark.parametrize(("accuracies", "axis"), [
    ([(0.13, 0.46), (0.95, 0.80), (0.99, 0.93)], (80, 100)),
    ([(0.13, 0.46), (0.95, 0.79), (0.99, 0.93)], (70, 100)),
    ([(0.04, 0.02)], (0, 10)),
    ([(0.0, 0.0), (0.0, 0.0)], (0, 10)),
    ([(1.0, 1.0)], (90, 100)),
    ([(0.9, 0.9), (0.2, 0.1), (0.9, 0.9)], (10, 90)),
])
def test_the_axis_goes_where_the_epochs_are_and_never_below_nothing(accuracies, axis):
    picture = learning.accuracy_by_epoch(epochs_of(*accuracies))
    assert tuple(picture.figure.layout.yaxis.range) == axis


def test_what_the_chart_leaves_out_is_told():
    told = learning.left_out(epochs_of((0.134, 0.456), (0.95, 0.80), (0.99, 0.93)))
    assert told == ("Lower than the chart goes: after epoch 1 it read 13.4% of the validation images and 45.6% of "
                    "the training images.")
    assert "validation" not in learning.left_out(epochs_of((0.9, 0.456), (0.95, 0.80)))
    assert learning.left_out(epochs_of((0.9, 0.85), (0.95, 0.80))) == ""


def test_every_epoch_of_the_shipped_model_is_shown_or_told():
    epochs = checkpoints.details(checkpoints.SHIPPED["explorer"]).epochs
    picture = learning.accuracy_by_epoch(epochs)
    low, high = picture.figure.layout.yaxis.range
    validation, training = picture.figure.data
    assert (validation.name, training.name) == ("validation", "training")
    assert "accuracy" in picture.alt
    for curve in (validation, training):
        assert list(curve.x) == [line.epoch for line in epochs]
        for epoch, accuracy in zip(curve.x, curve.y, strict=True):
            told = f"{accuracy / 100:.1%} of the {curve.name} images" in learning.left_out(epochs) and epoch == 1
            assert told != (low <= accuracy <= high)
