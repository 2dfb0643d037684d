"""What a checkpoint tells of itself beside its weights. No file is trusted: what makes no sense is left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from vit.datasets import DATASETS


@dataclass(frozen=True)
class Epoch:
    """How well a model read after an epoch of its training."""

    epoch: int
    train_accuracy: float
    validation_accuracy: float


@dataclass(frozen=True)
class Details:
    dataset: str = "mnist"  # what it has learned to read
    unsure_below: float = 0.5  # a smaller probability is called "not sure"
    # Of the model that ships
    epochs: tuple[Epoch, ...] = ()
    mean_of_epochs: tuple[int, ...] = ()  # whose weights it is the mean of
    test_accuracy: float | None = None
    # Of a run
    epoch: int | None = None
    flips: bool = False
    validation_accuracy: float | None = None

    @classmethod
    def of(cls, told: Any) -> "Details":
        told = told if isinstance(told, dict) else {}
        dataset, flips = told.get("dataset"), told.get("flips")
        lists = (told.get(name) for name in ("epochs", "mean_of_epochs"))
        epochs, averaged = (part if isinstance(part, list) else [] for part in lists)
        unsure = _share(told.get("unsure_below"))
        return cls(
            dataset=dataset if isinstance(dataset, str) and dataset in DATASETS else "mnist",
            unsure_below=0.5 if unsure is None else unsure,
            epochs=tuple(filter(None, map(_epoch, epochs))),
            mean_of_epochs=tuple(filter(_is_count, averaged)),
            test_accuracy=_share(told.get("test_accuracy")),
            epoch=told["epoch"] if _is_count(told.get("epoch")) else None,
            flips=flips is True,
            validation_accuracy=_share(told.get("validation_accuracy")),
        )


def _share(value: object) -> float | None:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6


def _epoch(told: object) -> Epoch | None:
    if not isinstance(told, Mapping) or not _is_count(told.get("epoch")):
        return None
    train, validation = (_share(told.get(name)) for name in ("train_accuracy", "validation_accuracy"))
    return None if train is None or validation is None else Epoch(told["epoch"], train, validation)
