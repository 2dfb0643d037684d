"""Which of MNIST's test digits the shipped model is known to misread, and for what it takes them."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vit import data

if TYPE_CHECKING:
    from vit.model import VisionTransformer

RECORDED = Path(__file__).parents[1] / "assets" / "explorer" / "mistakes.json"


class TakenFor(NamedTuple):
    meant: int
    read: int
    times: int


@cache
def indices() -> list[int]:
    """Of test digits, those that it is most certain of first."""
    return list(json.loads(RECORDED.read_text()))


def taken_for(model: "VisionTransformer") -> list[TakenFor]:
    """What it reads instead of what was meant, the most frequent first."""
    from vit.trace import probabilities_of  # a first page need not wait for torch

    images, labels = data.load("mnist", "test")
    meant = [int(labels[index]) for index in indices()]
    read = [int(np.argmax(probabilities_of(model, images[index]))) for index in indices()]
    counted = Counter(pair for pair in zip(meant, read, strict=True) if pair[0] != pair[1])
    return [TakenFor(*pair, times) for pair, times in counted.most_common()]
