import numpy as np
import pytest

from benchmarks.report import describe, wilson
from vit.explain import softmax
from vit.measures import best_temperature, expected_calibration_error, sure_from

# Wilson's interval


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_intervals_are_those_that_the_literature_gives(right, total, low, high):
    assert wilson(right, total) == pytest.approx((low, high), abs=6e-5)


def test_intervals_cover_the_truth_as_often_as_they_say():
    hits = np.random.default_rng(0).binomial(1000, 0.995, size=2000)
    covered = [low <= 0.995 <= high for low, high in (wilson(right, 1000) for right in hits)]
    assert 0.93 < np.mean(covered) < 0.98


# Calibration


def certain(confidences, right):
    """Answers of these confidences among two classes, and labels that make them right or wrong."""
    confidences = np.array(confidences)
    return np.stack([confidences, 1 - confidences], axis=1), np.where(right, 0, 1)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    probabilities, labels = certain([0.8] * 10, [True] * 6 + [False] * 4)
    assert expected_calibration_error(probabilities, labels) == pytest.approx(0.2)


def test_calibration_errors_of_different_confidence_do_not_cancel():
    right = [True] * 8 + [False] * 2 + [True] * 7 + [False] * 3
    probabilities, labels = certain([0.9] * 10 + [0.6] * 10, right)
    assert expected_calibration_error(probabilities, labels) == pytest.approx(0.1)


def test_calibration_error_is_0_for_honest_answers_and_full_confidence_has_a_bin():
    probabilities, labels = certain([1.0] * 5 + [0.75] * 4, [True] * 5 + [True] * 3 + [False])
    assert expected_calibration_error(probabilities, labels) == pytest.approx(0)


@pytest.mark.parametrize("heat", [0.5, 1.0, 3.0])
def test_best_temperature_undoes_a_known_scaling(heat):
    random = np.random.default_rng(0)
    honest = random.normal(0, 2, (20_000, 10))
    labels = (honest + random.gumbel(size=honest.shape)).argmax(axis=1)  # drawn from softmax(honest)
    assert best_temperature(honest * heat, labels) == pytest.approx(heat, rel=0.03)


def test_temperature_moves_confidence_but_no_answer():
    logits = np.array([[3.0, 1.0, 0.0]])
    assert softmax(logits / 2).argmax() == 0
    assert softmax(logits / 2).max() < softmax(logits).max()
    assert softmax(logits * 1e4).tolist() == [[1.0, 0.0, 0.0]]


def test_at_most_the_allowed_share_of_correct_answers_is_doubted():
    random = np.random.default_rng(0)
    probabilities, labels = certain(random.uniform(0.5, 1, 1000), random.random(1000) < 0.9)
    threshold = sure_from(probabilities, labels, doubted=0.02)
    of_correct = probabilities.max(axis=1)[labels == 0]
    assert (of_correct < threshold).sum() == int(0.02 * len(of_correct))
    assert (of_correct <= threshold).mean() > 0.02  # no higher threshold would do


# The printed report


def test_report_tells_accuracy_interval_and_digits():
    labels = np.repeat(np.arange(10), 10)
    logits = np.eye(10)[labels] * 20
    logits[:5] = np.eye(10)[6] * 20
    text = describe(labels, logits)
    assert "accuracy 95.00%, 95 % interval 88.82% to 97.85% (95 of 100)" in text
    assert "expected calibration error 5.00%" in text
    assert "% right    50.0 100.0" in text
