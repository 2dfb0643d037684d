"""Numbers as text: for sentences and tables, with a proper minus, and for equations in KaTeX."""

import re
from collections.abc import Sequence
from math import floor, isfinite, isinf, log10
from typing import NamedTuple

MINUS = "−"


def fixed(value: float, decimals: int) -> str:
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # + 0.0 turns −0 into 0


# For sentences and tables


def plain(value: float, decimals: int = 2) -> str:
    return fixed(value, decimals).replace("-", MINUS)


def number(value: float) -> str:
    """Three digits that matter."""
    value = float(value) + 0.0  # no −0
    text = f"{value:.0f}" if abs(value) >= 1000 or value.is_integer() else f"{value:#.3g}".rstrip(".")
    if "e" in text:
        text = f"{value:.1e}"
    return text.replace("-", MINUS)


def with_sign(value: float, decimals: int = 2) -> str:
    return f"{round(float(value), decimals) + 0.0:+.{decimals}f}".replace("-", MINUS)


def column(values: Sequence[float]) -> list[str]:
    """Numbers to be added up below each other: all with the decimals that give the largest four digits."""
    largest = max((abs(value) for value in values if isfinite(value)), default=0) or 1
    decimals = min(max(3 - floor(log10(largest)), 0), 8)
    return [fixed(value, decimals).replace("-", MINUS) for value in values]


def share(part: float) -> str:
    """A part of a whole that may be many times as large as the whole."""
    return f"{part:.0%}" if part < 9.995 else f"{part:.0f}×"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def many(count: int) -> str:
    """A whole number in full, or three digits of one that is long."""
    return f"{count:,}" if count < 10**6 else _in_units(count, (("G", 10**9), ("M", 10**6)))


def in_bytes(count: int) -> str:
    return f"{count} bytes" if count < 10**3 else _in_units(count, (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)))


def _in_units(count: int, units: Sequence[tuple[str, int]]) -> str:
    unit, size = next((unit, size) for unit, size in units if count >= 0.9995 * size)  # so much is rounded up to one
    return f"{count / size:#.3g}".rstrip(".") + f" {unit}"


class Size(NamedTuple):
    """A positive number of any size, as at least three digits that matter and, where one is needed, a power of ten."""

    mantissa: str
    power: str

    @classmethod
    def of(cls, value: float) -> "Size":
        if isinf(value):  # weights that a far too large learning rate has left
            return cls("∞", "")
        if value >= 1e7 or 0 < value < 1e-3:
            mantissa, power = f"{value:.2e}".split("e")
            return cls(mantissa, str(int(power)).replace("-", MINUS))
        decimals = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3 if value >= 0.1 else 4
        return cls(f"{value:,.{decimals}f}", "")


# For equations


def rounded(value: float) -> str:
    return fixed(value, 3)


def bracketed(value: float) -> str:
    """For the inside of a sum or product: negative numbers in brackets."""
    text = rounded(value)
    return f"({text})" if text.startswith("-") else text


def latex_size(value: float) -> str:
    mantissa, power = Size.of(value)
    mantissa = mantissa.replace(",", "{,}")
    return rf"{mantissa} \cdot 10^{{{power.replace(MINUS, '-')}}}" if power else mantissa


def row_vector(values: Sequence[float], most: int = 4) -> str:
    """A vector as one row, with dots in place of its middle where it is longer than can be shown."""
    shown = [fixed(value, 2) for value in values]
    if len(shown) > most:
        shown = [*shown[: most - 1], r"\dots", shown[-1]]
    return r"\left[" + r",\; ".join(shown) + r"\right]"


def latex_word(name: str) -> str:
    """A class in a formula: a digit as it is, a name as text, without what a formula would take for a command."""
    return name if name.isdigit() else r"\text{" + re.sub(r"[^\w ,.'()-]", " ", name) + "}"
