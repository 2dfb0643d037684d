"""What the explorer's model and its teacher learn from: MNIST's training split, written in many hands."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from assets.explorer.recipe import handwriting
from assets.explorer.recipe.augment import rewrite, scribbles
from vit import data
from vit.datasets import NORMALISATION

BATCH = 64
SCRIBBLES_KEPT, SCRIBBLES = 6000, 3  # drawn once; so many beside each batch, with "could be anything" as their label
RESTYLED_EACH, RESTYLED_SHARE = 1500, 0.35  # pictures, share of their class
SMOOTHING = 0.05
HARD = 5000  # so many images count as hard to read

(MEAN,), (DEVIATION,) = NORMALISATION[1].mean, NORMALISATION[1].deviation


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

    def find_hard(self, opinion: Callable[[Tensor], Tensor]) -> None:
        """Those whose label is thought the least likely."""
        likely = torch.cat([opinion((pictures - MEAN) / DEVIATION) for pictures in self.digits.split(250)])
        self.hard = likely.gather(1, self.labels[:, None])[:, 0].topk(HARD, largest=False).indices

    def epoch(
        self, generator: Generator, mildest: float = 1.0, strongest: float = 1.0, restyled: bool = True,
        hard: float = 0.0,
    ) -> Iterator[Batch]:
        order = torch.randperm(len(self.labels), generator=generator)
        if hard:
            prefer(order, self.hard, hard, generator)
        for chosen in order.split(BATCH):
            labels = self.labels[chosen]
            strange = self.scribbles[torch.randint(len(self.scribbles), (SCRIBBLES,), generator=generator)]
            pictures = self.digits[chosen]
            if restyled:
                restyle(pictures, labels, self.restyled, generator)
            rewritten = rewrite(torch.cat([pictures, strange]), generator, mildest, strongest)
            targets = F.one_hot(labels, 10) * (1 - SMOOTHING) + SMOOTHING / 10
            yield Batch((rewritten - MEAN) / DEVIATION, torch.cat([targets, torch.full((SCRIBBLES, 10), 0.1)]), labels)


def prefer(order: Tensor, hard: Tensor, share: float, generator: Generator) -> None:
    """Put hard ones in the place of some."""
    replaced = torch.nonzero(torch.rand(len(order), generator=generator) < share)[:, 0]
    order[replaced] = hard[torch.randint(len(hard), (len(replaced),), generator=generator)]


def restyle(pictures: Tensor, labels: Tensor, restyled: dict[int, Tensor], generator: Generator) -> None:
    """Put others of the same class, written in another style, in the place of some digits."""
    for digit, others in restyled.items():
        drawn = torch.rand(len(labels), generator=generator) < RESTYLED_SHARE
        replaced = torch.nonzero((labels == digit) & drawn)[:, 0]
        pictures[replaced] = others[torch.randint(len(others), (len(replaced),), generator=generator)]


def as_pictures(images) -> Tensor:
    return torch.tensor(images)[:, None].float() / 255
