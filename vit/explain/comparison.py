"""Two drawings, or two models, beside each other: how far apart they are."""

from typing import NamedTuple

import numpy as np

from vit.trace import ForwardTrace


def looks_elsewhere(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which share of the attention would have to move to turn one row into the other: (…, T) twice -> (…)."""
    return np.abs(np.asarray(one, float) - np.asarray(other, float)).sum(-1) / 2


def heads_apart(one: ForwardTrace, other: ForwardTrace, token: int) -> np.ndarray | None:
    """The same for every head of every block: (L, h); None where the two have not the same heads and tokens."""
    shapes = [[block.pattern.shape for block in trace.blocks] for trace in (one, other)]
    if shapes[0] != shapes[1]:
        return None
    rows = [np.stack([block.pattern[:, token] for block in trace.blocks]) for trace in (one, other)]
    return looks_elsewhere(*rows)


class LogitsApart(NamedTuple):
    label: int  # the class whose logits are furthest apart
    one: float
    other: float


def logits_apart(one: ForwardTrace, other: ForwardTrace) -> LogitsApart | None:
    """None where the two know other classes."""
    if one.logits.shape != other.logits.shape:
        return None
    label = int(np.abs(one.logits - other.logits).argmax())
    return LogitsApart(label, float(one.logits[label]), float(other.logits[label]))
