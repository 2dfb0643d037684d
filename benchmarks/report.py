"""How well a model reads digits: accuracy and its interval, digit by digit, and what it takes for what."""

import numpy as np
import torch

from vit import data
from vit.calibration import wilson
from vit.explain import softmax
from vit.measures import confusion, expected_calibration_error
from vit.model import VisionTransformer


@torch.inference_mode()
def logits_of(model: VisionTransformer, images: np.ndarray) -> np.ndarray:
    """(n, H, W) uint8 to (n, classes), float64."""
    chunks = (images[start : start + 100] for start in range(0, len(images), 100))
    return np.concatenate([model(data.normalise(chunk)).double().numpy() for chunk in chunks])


def describe(labels: np.ndarray, logits: np.ndarray) -> str:
    counts = confusion(labels, logits.argmax(axis=1), 10)
    right, total = int(counts.trace()), int(counts.sum())
    low, high = wilson(right, total)
    error = expected_calibration_error(softmax(logits), labels)
    per_digit = counts.diagonal() / np.maximum(counts.sum(axis=1), 1)
    rows = ["".join(f"{count or '·':>6}" for count in row) for row in counts]
    table = "\n".join(f"{digit:>8} {row}" for digit, row in enumerate(rows))
    return (
        f"accuracy {right / total:.2%}, 95 % interval {low:.2%} to {high:.2%} ({right} of {total})\n"
        f"expected calibration error {error:.2%} (15 bins)\n\n"
        f"digit    {''.join(f'{digit:>6}' for digit in range(10))}\n"
        f"% right  {''.join(f'{share * 100:6.1f}' for share in per_digit)}\n\n"
        f"written  {'read as'.center(60).rstrip()}\n{table}"
    )
