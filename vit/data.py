"""Data sets: MNIST lies in assets/."""

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np

BUNDLED_MNIST = Path(__file__).parent.parent / "assets" / "mnist"

VALIDATION_SIZE = 5_000
VALIDATION_SEED = 0


def load(name: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (uint8, n × H × W) and labels (int64, n) of a data set's train, validation or test split."""
    if name != "mnist" or split not in ("train", "validation", "test"):
        raise ValueError(f"There is no data set {name!r} with a split {split!r}.")
    return _test(name) if split == "test" else _train_and_validation(name)[split]


@lru_cache
def _test(name):
    return _read_only(*_read_mnist("t10k"))


@lru_cache
def _train_and_validation(name):
    images, labels = _read_mnist("train")
    validation = subset(labels, VALIDATION_SIZE, VALIDATION_SEED)
    train = np.setdiff1d(np.arange(len(labels)), validation)
    return {
        "train": _read_only(images[train], labels[train]),
        "validation": _read_only(images[validation], labels[validation]),
    }


def subset(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Indices of `size` examples, drawn at random, in which each class keeps its share."""
    # random_raw is the one stream that NumPy promises never to change.
    draws = np.random.PCG64(seed).random_raw(len(labels))
    shuffled_within_classes = np.lexsort((draws, labels))
    evenly_spaced = np.arange(size) * len(labels) // size
    return np.sort(shuffled_within_classes[evenly_spaced])


def _read_mnist(part):
    images = gzip.decompress((BUNDLED_MNIST / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((BUNDLED_MNIST / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    images = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28)
    labels = np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)
    return images, labels


def _read_only(images, labels):
    images.flags.writeable = False
    labels.flags.writeable = False
    return images, labels
