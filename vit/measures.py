"""Numbers that tell how well a model answers."""

import numpy as np

from vit.explain import softmax


def confusion(labels: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """How often each class (row) was taken for each class (column): (classes, classes)."""
    return np.bincount(labels * classes + answers, minlength=classes**2).reshape(classes, classes)


# Does a model mean what it says?


def expected_calibration_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    """How far apart confidence and accuracy are on average, among answers of about the same confidence."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=confidence - right)  # per bin: its answers times its gap
    return float(np.abs(gaps).sum() / len(labels))


def best_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature at which softmax(logits / temperature) gives the labels the greatest likelihood."""
    of_labels = np.take_along_axis(logits, labels[:, None], axis=1).mean()
    coldness_low, coldness_high = 0.01, 100.0
    for _ in range(60):
        coldness = np.sqrt(coldness_low * coldness_high)
        # The slope of the negative log-likelihood, which rises with coldness: its zero is the best.
        slope = (softmax(logits * coldness) * logits).sum(axis=1).mean() - of_labels
        if slope < 0:
            coldness_low = coldness
        else:
            coldness_high = coldness
    return float(1 / coldness)


def sure_from(probabilities: np.ndarray, labels: np.ndarray, doubted: float = 0.005) -> float:
    """The highest threshold below which at most this share of the correct answers falls."""
    confidence = probabilities.max(axis=1)
    of_correct = np.sort(confidence[probabilities.argmax(axis=1) == labels])
    return float(of_correct[int(doubted * len(of_correct))])
