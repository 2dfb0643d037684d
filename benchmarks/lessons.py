"""What the explorer's model and its teacher learn from: MNIST's training split, written in many hands."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from benchmarks import handwriting
from benchmarks.augment import rewrite, scribbles
from vit import data

BATCH = 64
SCRIBBLES_KEPT, SCRIBBLES = 6000, 3  # drawn once; so many beside each batch, with "could be anything" as their label
RESTYLED_EACH, RESTYLED_SHARE = 1500, 0.35  # pictures, share of their class
SMOOTHING = 0.05

(MEAN,), (DEVIATION,) = data.NORMALISATION[1]


class Batch(NamedTuple):
    images: Tensor  # (B + SCRIBBLES, 1, 28, 28), normalised
    targets: Tensor  # (B + SCRIBBLES, 10), probabilities
    labels: Tensor  # (B,)


class Lessons:
    def __init__(self, seed: int):
        images, labels = data.load("mnist", "train")
        self.digits, self.labels = as_pictures(images), torch.tensor(labels)
        self.scribbles = as_pictures(scribbles(SCRIBBLES_KEPT, seed))
        pool = handwriting.pool(images, labels, RESTYLED_EACH, seed)
        self.restyled = {digit: as_pictures(pictures) for digit, pictures in pool.items()}

    def __len__(self) -> int:
        return -(-len(self.labels) // BATCH)

    def epoch(
        self, generator: Generator, mildest: float = 1.0, strongest: float = 1.0, restyled: bool = True
    ) -> Iterator[Batch]:
        for chosen in torch.randperm(len(self.labels), generator=generator).split(BATCH):
            labels = self.labels[chosen]
            strange = self.scribbles[torch.randint(len(self.scribbles), (SCRIBBLES,), generator=generator)]
            pictures = self.digits[chosen]
            if restyled:
                restyle(pictures, labels, self.restyled, generator)
            rewritten = rewrite(torch.cat([pictures, strange]), generator, mildest, strongest)
            targets = F.one_hot(labels, 10) * (1 - SMOOTHING) + SMOOTHING / 10
            yield Batch((rewritten - MEAN) / DEVIATION, torch.cat([targets, torch.full((SCRIBBLES, 10), 0.1)]), labels)


def restyle(pictures: Tensor, labels: Tensor, restyled: dict[int, Tensor], generator: Generator) -> None:
    """Put others of the same class, written in another style, in the place of some digits."""
    for digit, others in restyled.items():
        drawn = torch.rand(len(labels), generator=generator) < RESTYLED_SHARE
        replaced = torch.nonzero((labels == digit) & drawn)[:, 0]
        pictures[replaced] = others[torch.randint(len(others), (len(replaced),), generator=generator)]


def as_pictures(images) -> Tensor:
    return torch.tensor(images)[:, None].float() / 255
