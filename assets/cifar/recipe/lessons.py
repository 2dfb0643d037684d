"""What the model for photos learns from: CIFAR-10's training split, mirrored, moved and lit differently each time."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Generator, Tensor

from vit import data
from vit.datasets import NORMALISATION

BATCH = 128
MOST_PIXELS = 4  # that a picture is moved by
LIGHT = 0.2  # how far brightness and contrast change


class Lessons:
    def __init__(self) -> None:
        images, labels = data.load("cifar10", "train")
        rim = (MOST_PIXELS, MOST_PIXELS)
        widened = np.pad(images, ((0, 0), rim, rim, (0, 0)), mode="reflect")
        self.pictures, self.labels = torch.tensor(widened).permute(0, 3, 1, 2), torch.tensor(labels)
        self.side = images.shape[1]

    def __len__(self) -> int:
        return -(-len(self.labels) // BATCH)

    def epoch(self, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Every picture once: normalised (B, 3, H, W), with labels (B,)."""
        for chosen in data.batch_indices(len(self.labels), BATCH, generator):
            pictures = light(move(self.pictures[chosen], self.side, generator).float() / 255, generator)
            pictures = data.flip(pictures, data.draw_flips(len(chosen), generator))
            mean, deviation = (torch.tensor(values).view(3, 1, 1)
                               for values in (NORMALISATION[3].mean, NORMALISATION[3].deviation))
            yield (pictures - mean) / deviation, self.labels[chosen]


def move(widened: Tensor, side: int, generator: Generator) -> Tensor:
    """A window of its own into each picture (B, C, H, W)."""
    room = widened.shape[-1] - side
    down, right = torch.randint(room + 1, (2, len(widened), 1), generator=generator)
    picture = torch.arange(len(widened))[:, None, None]
    row, column = (down + torch.arange(side))[:, :, None], (right + torch.arange(side))[:, None, :]
    return widened[picture, :, row, column].permute(0, 3, 1, 2)


def light(pictures: Tensor, generator: Generator) -> Tensor:
    """(B, C, H, W) in [0, 1], each brighter or darker, with more contrast or less."""
    brightness, contrast = LIGHT * (2 * torch.rand(2, len(pictures), 1, 1, 1, generator=generator) - 1)
    middle = pictures.mean((1, 2, 3), keepdim=True)
    return ((pictures - middle) * (1 + contrast) + middle + brightness).clamp(0, 1)
