"""Which classes there is room for: all where they are few, else the likeliest and one line for all others."""

import numpy as np

FEW, TOP = 20, 10


def likeliest(probabilities: np.ndarray, *always: int) -> list[int]:
    """All classes, if they are few; else the first ten and those wanted always, if there are such."""
    if len(probabilities) <= FEW:
        return list(range(len(probabilities)))
    first = np.argsort(-probabilities, kind="stable")[:TOP].tolist()
    return [*first, *(number for number in dict.fromkeys(always)
                     if number not in first and number < len(probabilities))]


def with_others(classes: int, shown: list[int]) -> dict[int | str, np.ndarray]:
    """Each class that is shown, and all others under one name: to the numbers of the classes that it stands for."""
    left = np.setdiff1d(np.arange(classes), shown)
    return {number: np.array([number]) for number in shown} | ({f"{len(left):,} others": left} if len(left) else {})
