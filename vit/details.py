"""What a checkpoint tells of itself beside its weights. No file is trusted: what makes no sense is left out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from vit.datasets import DATASETS, Means, Normalisation

MOST_CLASSES, LONGEST_NAME = 100_000, 80
LONGEST_SIDE = 10_000  # of a picture, in pixels


@dataclass(frozen=True)
class Epoch:
    """How well a model read after an epoch of its training."""

    epoch: int
    train_accuracy: float
    validation_accuracy: float


@dataclass(frozen=True)
class Preparation:
    """What its makers do with a picture before their model sees it."""

    resize: int  # what the shorter side becomes, in pixels; both sides if nothing is cut off
    crop: int  # the side of the square that is cut out of the middle
    mean: Means
    deviation: Means
    interpolation: str = "bilinear"
    cut: bool = True  # or the whole picture is squeezed into the square
    assumed: bool = False  # nothing lay with the weights that told it

    @property
    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.deviation)


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
    # Of weights from elsewhere
    origin: str = ""
    classes: tuple[str, ...] = ()  # by number, where they are not those of the data set
    preparation: Preparation | None = None

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
            origin=_name(told.get("origin")),
            classes=class_names(told.get("classes")),
            preparation=preparation(told.get("preparation")),
        )

    def as_json(self) -> dict[str, Any]:
        """What differs from the usual, as it lies in a file."""
        usual = asdict(Details())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}


def class_names(told: object) -> tuple[str, ...]:
    if not isinstance(told, list | tuple) or not 0 < len(told) <= MOST_CLASSES:
        return ()
    names = tuple(map(_name, told))
    return names if all(names) else ()


def preparation(told: object) -> Preparation | None:
    if not isinstance(told, Mapping):
        return None
    mean, deviation = (_means(told.get(name)) for name in ("mean", "deviation"))
    resize, crop = (_side(told.get(name)) for name in ("resize", "crop"))
    if not mean or len(mean) != len(deviation) or min(deviation) < 1e-3:
        return None
    if resize is None or crop is None or crop > resize:
        return None
    return Preparation(resize, crop, mean, deviation, _name(told.get("interpolation")) or "bilinear",
                       told.get("cut") is not False, told.get("assumed") is True)


def _means(told: object) -> Means:
    """One number per channel."""
    if not isinstance(told, list | tuple) or len(told) not in (1, 3):
        return ()
    fine = (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e3 for value in told)
    return tuple(map(float, told)) if all(fine) else ()


def _name(told: object) -> str:
    """In one line, without what would steer a terminal."""
    words = "".join(letter if letter.isprintable() else " " for letter in told) if isinstance(told, str) else ""
    return " ".join(words.split())[:LONGEST_NAME]


def _share(value: object) -> float | None:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6


def _side(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LONGEST_SIDE else None


def _epoch(told: object) -> Epoch | None:
    if not isinstance(told, Mapping) or not _is_count(told.get("epoch")):
        return None
    train, validation = (_share(told.get(name)) for name in ("train_accuracy", "validation_accuracy"))
    return None if train is None or validation is None else Epoch(told["epoch"], train, validation)
