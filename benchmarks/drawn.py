"""How well a model reads what people draw: `python -m benchmarks.drawn PATH [--checkpoint NAME_OR_PATH]`.

PATH is a UNIPEN file of pen strokes in a box of 500 x 500. They are put on paper as the app's canvas would
and go through the same steps as a visitor's drawing.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.report import describe, logits_of
from vit import checkpoints
from vit.drawing import ink, unipen

BOX = 500


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--checkpoint", default="explorer", help="a shipped model's name, or a file")
    arguments = parser.parse_args()
    model = checkpoints.load(arguments.checkpoint)
    images, labels = pictures(unipen.read(arguments.path, BOX))
    print(describe(labels, logits_of(model, images)))


def pictures(digits: Sequence[unipen.PenDigit]) -> tuple[np.ndarray, np.ndarray]:
    """The digits as a model sees them; one without ink has nothing to be read and is left out."""
    drawn = [(ink.from_strokes(digit.strokes, BOX), digit.label) for digit in digits]
    inked = [(found.image, label) for found, label in drawn if found is not None]
    if not inked:
        raise SystemExit("There are no pen strokes in that file.")
    return np.stack([image for image, _ in inked]), np.array([label for _, label in inked])


if __name__ == "__main__":
    main()
