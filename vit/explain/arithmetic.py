"""What all explanations compute with."""

from collections.abc import Sequence

import numpy as np
import torch


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def lengths(vectors: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    return np.linalg.norm(np.asarray(vectors, float), axis=-1)


def furthest_from_zero(values: np.ndarray) -> int:
    """The most telling one of many numbers, for as long as nobody has chosen another."""
    return int(np.abs(values).argmax())


def cosines(vectors: np.ndarray) -> np.ndarray:
    """Between every two of the vectors; a vector of zeros has no direction and gets 0."""
    vectors = np.asarray(vectors, float)
    size = lengths(vectors)[..., None]
    directions = vectors / np.where(size > 0, size, 1)
    return directions @ np.swapaxes(directions, -1, -2)


def weights(parameter: torch.Tensor) -> np.ndarray:
    return parameter.detach().numpy().astype(float)


def same_order(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation: 1 if both put the patches in the same order, −1 in the opposite one.

    0 if all values of one are the same: then it has no order.
    """
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks. (SciPy has this, and takes a second to import.)"""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (count.cumsum() - (count - 1) / 2)[place]
