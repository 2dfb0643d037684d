"""Numbers that tell how well a model answers."""

import numpy as np


def confusion(labels: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """How often each class (row) was taken for each class (column): (classes, classes)."""
    return np.bincount(labels * classes + answers, minlength=classes**2).reshape(classes, classes)
