"""How sure the shipped model is, and how often right: `python -m assets.explorer.recipe.calibrate`.

Writes `calibration.json` beside the weights; the page Logits draws it. Test images, which it has not learned from.
"""

from assets.explorer.recipe.lessons import SMOOTHING
from assets.recipes import record_calibration
from benchmarks.report import logits_of
from vit import checkpoints, data
from vit.explain import softmax


def main():
    images, labels = data.load("mnist", "test")
    model, shipped = checkpoints.load("explorer"), checkpoints.SHIPPED["explorer"]
    record_calibration(softmax(logits_of(model, images)), labels, "mnist", shipped, SMOOTHING)


if __name__ == "__main__":
    main()
