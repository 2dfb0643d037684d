"""How often a model is right when it is how sure: measured once, and kept in a file beside its weights."""

import json
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from pathlib import Path

import numpy as np

FILE = "calibration.json"
BINS = 20


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % interval for a share, by Wilson's score; it holds for shares near 1 too."""
    z = 1.959964
    middle = (right + z * z / 2) / (total + z * z)
    reach = z / (total + z * z) * sqrt(right * (total - right) / total + z * z / 4)
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True)
class Bin:
    """The answers that were given with a confidence from `low` up to `high`."""

    low: float
    high: float
    images: int
    right: int

    @property
    def accuracy(self) -> float:
        return self.right / self.images

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.images)


@dataclass(frozen=True)
class Calibration:
    measured_on: str  # which images, in words
    images: int
    right: int
    smoothing: float  # of labels, while it learned; 0 for none
    bins: tuple[Bin, ...]  # those in which there are answers, the least sure first

    @property
    def accuracy(self) -> float:
        return self.right / self.images

    def bin_of(self, confidence: float) -> Bin | None:
        """Those that were about as sure; None if there were none."""
        return next((found for found in reversed(self.bins) if found.low <= confidence <= found.high), None)


def measure(probabilities: np.ndarray, labels: np.ndarray, measured_on: str, smoothing: float) -> Calibration:
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    counts, hits = np.bincount(bin_of, minlength=BINS), np.bincount(bin_of[right], minlength=BINS)
    bins = tuple(Bin(i / BINS, (i + 1) / BINS, int(counts[i]), int(hits[i])) for i in range(BINS) if counts[i])
    return Calibration(measured_on, len(labels), int(right.sum()), smoothing, bins)


def write(calibration: Calibration, weights: Path) -> None:
    weights.with_name(FILE).write_text(json.dumps(asdict(calibration), indent=1) + "\n")


def beside(weights: Path) -> Calibration | None:
    """What was recorded of these weights; None if nothing was, or nothing that makes sense."""
    try:
        told = json.loads(weights.with_name(FILE).read_text(encoding="utf-8"))
        bins = tuple(Bin(float(found["low"]), float(found["high"]), int(found["images"]), int(found["right"]))
                     for found in told["bins"])
        calibration = Calibration(str(told["measured_on"]), int(told["images"]), int(told["right"]),
                                  float(told["smoothing"]), bins)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return calibration if _makes_sense(calibration) else None


def _makes_sense(told: Calibration) -> bool:
    counts = [(told.right, told.images), *((part.right, part.images) for part in told.bins)]
    counted = all(0 <= right <= images and images > 0 for right, images in counts)
    places = all(isfinite(part.low) and 0 <= part.low < part.high <= 1 for part in told.bins)
    return counted and places and bool(told.bins) and 0 <= told.smoothing < 1
