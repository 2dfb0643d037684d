"""Pen strokes in UNIPEN text: who wrote what, as the points that the pen passed through.

Of the format only what describes a digit is read: `.SEGMENT DIGIT … "8"` starts one and names it,
`.PEN_DOWN` and `.PEN_UP` bound a stroke, the lines between hold x and y with y pointing up.
"""

import re
from pathlib import Path
from typing import NamedTuple

Stroke = list[tuple[float, float]]


class PenDigit(NamedTuple):
    strokes: list[Stroke]  # y points down, as on a screen
    label: int


def read(path: str | Path, side: float = 500) -> list[PenDigit]:
    """All digits of a UNIPEN file that were written in a box of side x side."""
    digits: list[PenDigit] = []
    pen_is_down = False
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if words[0] == ".SEGMENT":
            pen_is_down = False
            digits.append(PenDigit([], _label(line, number)))
        elif words[0] == ".PEN_DOWN" and digits:
            pen_is_down = True
            digits[-1].strokes.append([])
        elif words[0].startswith("."):
            pen_is_down = False
        elif pen_is_down:
            try:
                x, y = float(words[0]), float(words[1])
            except (ValueError, IndexError):
                raise ValueError(f"Line {number} should hold x and y, but reads {line.strip()!r}.") from None
            digits[-1].strokes[-1].append((x, side - y))
    return digits


def _label(line: str, number: int) -> int:
    if found := re.search(r'"([0-9])"\s*$', line):
        return int(found[1])
    raise ValueError(f'Line {number} should end with a digit such as "8", but reads {line.strip()!r}.')
