"""How well the shipped models read MNIST's test images: `python -m benchmarks.accuracy [CHECKPOINT ...]`."""

import argparse
from pathlib import Path

from benchmarks.report import describe, logits_of
from vit import checkpoints, data, shipped
from vit.explain import softmax
from vit.measures import best_temperature, expected_calibration_error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", nargs="*", help="names or paths; without any, all in assets/")
    paths = parser.parse_args().checkpoints or sorted(shipped.ASSETS.glob("**/*.safetensors"))
    for path in paths:
        print(f"\n{Path(path).stem}\n")
        report(checkpoints.load(path))


def report(model) -> None:
    images, labels = data.load("mnist", "test")
    logits = logits_of(model, images)
    print(describe(labels, logits))
    held_out_images, held_out_labels = data.load("mnist", "validation")
    temperature = best_temperature(logits_of(model, held_out_images), held_out_labels)
    error = expected_calibration_error(softmax(logits / temperature), labels)
    print(f"\nexpected calibration error {error:.2%} at temperature {temperature:.3f}, validation's best")


if __name__ == "__main__":
    main()
