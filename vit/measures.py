"""What answers are worth, as numbers."""

import numpy as np


def confusion(labels: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """How often each class got each answer: (classes, classes), row: what it is, column: the answer."""
    return np.bincount(labels * classes + answers, minlength=classes**2).reshape(classes, classes)
