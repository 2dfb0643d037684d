"""How sure the shipped model is, and how often right: `python -m assets.explorer.recipe.calibrate`.

Writes `calibration.json` beside the weights; the page Logits draws it. Test images, which it has not learned from.
"""

import numpy as np

from assets.explorer.recipe.lessons import SMOOTHING
from benchmarks.report import logits_of
from vit import calibration, checkpoints, data
from vit.explain import softmax


def main():
    images, labels = data.load("mnist", "test")
    record(softmax(logits_of(checkpoints.load("explorer"), images)), labels)


def record(probabilities: np.ndarray, labels: np.ndarray) -> None:
    """What the model says to the test images, and what they are."""
    measured = calibration.measure(probabilities, labels, f"MNIST's {len(labels):,} test images", SMOOTHING)
    calibration.write(measured, checkpoints.SHIPPED["explorer"])
    for part in measured.bins:
        print(f"{part.low:.0%} to {part.high:.0%}: {part.images:5} images, {part.accuracy:.1%} right")


if __name__ == "__main__":
    main()
