"""Files that are trusted in nothing: each value is taken as what it has to be, or refused in words."""

from typing import Any

MOST = 1e300  # NaN, which is not below it, and Infinity are no numbers here


def need(good: bool, sentence: str) -> None:
    if not good:
        raise ValueError(sentence)


def word(values: Any, name: str) -> str:
    found = values[name]
    need(isinstance(found, str) and len(found) <= 200, f"{name} is {str(found)[:40]!r}.")
    return str(found)


def whole(values: Any, name: str) -> int:
    return as_whole(values[name], name)


def as_whole(value: Any, name: str = "seed") -> int:
    need(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63,
         f"{name} is {str(value)[:40]!r}.")
    return int(value)


def number(value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST
    need(good, f"{str(value)[:40]!r} is no number.")
    return float(value)


def numbers(values: Any, name: str) -> dict[str, float]:
    return {str(key): number(value) for key, value in values[name].items()}


def number_list(values: Any) -> list[float]:
    need(isinstance(values, list), f"{str(values)[:40]!r} is no list.")
    return [number(value) for value in values]
