"""Handwriting as other people would have written it: the changes that the explorer's training makes."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from vit.drawing import ink


def rewrite(images: Tensor, generator: Generator, mildest: float = 1.0, strongest: float = 1.0) -> Tensor:
    """(B, 1, H, W) in [0, 1], each turned, slanted, stretched, moved, bent and inked a little differently.

    How strongly differs as well: each image has a strength of its own between `mildest` and `strongest`.
    """
    strength = mildest + (strongest - mildest) * torch.rand(len(images), generator=generator)
    return reink(bend(images, strength, generator), strength, generator).clamp(0, 1)


def bend(images: Tensor, strength: Tensor, generator: Generator) -> Tensor:
    B, side = len(images), images.shape[-1]

    def uniform(low, high):
        return strength * (low + (high - low) * torch.rand(B, generator=generator))

    turn, slant = uniform(-0.3, 0.3), uniform(-0.35, 0.35)
    wide, high = 1 + uniform(-0.3, 0.15), 1 + uniform(-0.2, 0.15)
    cos, sin = torch.cos(turn), torch.sin(turn)
    affine = torch.stack([
        torch.stack([cos / wide, (slant * cos - sin) / wide, uniform(-2, 2) * 2 / side], 1),
        torch.stack([sin / high, (slant * sin + cos) / high, uniform(-2, 2) * 2 / side], 1),
    ], 1)  # (B, 2, 3)
    grid = F.affine_grid(affine, list(images.shape), align_corners=False)
    waves = torch.randn(B, 2, 5, 5, generator=generator) * uniform(0, 0.09)[:, None, None, None]
    waves = F.interpolate(waves, size=(side, side), mode="bicubic", align_corners=True)
    return F.grid_sample(images, grid + waves.permute(0, 2, 3, 1), align_corners=False)


def reink(images: Tensor, strength: Tensor, generator: Generator) -> Tensor:
    """A heavier pen for some, a lighter one for others."""
    strength = strength[:, None, None, None]
    heavier = F.max_pool2d(images, 3, stride=1, padding=1)
    lighter = -F.max_pool2d(-images, 3, stride=1, padding=1)
    weight = strength * (torch.rand(len(images), 1, 1, 1, generator=generator) * 1.3 - 0.5)
    inked = images + weight.clamp(min=0) * (heavier - images) + weight.clamp(max=0).abs() * (lighter - images)
    return inked * (1 + strength * 0.6 * torch.rand(len(images), 1, 1, 1, generator=generator))


def scribbles(count: int, seed: int) -> np.ndarray:
    """Pen strokes that are no digits, as the ink pipeline would hand them to the model."""
    random = np.random.default_rng(seed)
    pictures = []
    while len(pictures) < count:
        stroke = wander if random.random() < 0.5 else zigzag
        strokes = [stroke(random) for _ in range(random.integers(2, 5))]
        found = ink.from_canvas(ink.draw_strokes(strokes, side=200, brush=random.uniform(8, 14)))
        if found is not None:
            pictures.append(found.image)
    return np.stack(pictures)


def wander(random: np.random.Generator) -> list[tuple[float, float]]:
    """One stroke of a pen that keeps changing its mind about where to go."""
    x, y = random.uniform(40, 160, 2)
    direction, turning = random.uniform(0, 2 * math.pi), 0.0
    points = []
    for _ in range(random.integers(20, 70)):
        points.append((x, y))
        turning = 0.85 * turning + random.normal(0, 0.25)
        direction += turning
        if random.random() < 0.05:
            direction += random.uniform(-2.5, 2.5)
        x = float(np.clip(x + 7 * math.cos(direction), 10, 190))
        y = float(np.clip(y + 7 * math.sin(direction), 10, 190))
    return points


def zigzag(random: np.random.Generator) -> list[tuple[float, float]]:
    """One stroke of straight lines between points of a coarse grid, as letters and houses are made of."""
    return [(float(x), float(y)) for x, y in 40 + 30 * random.integers(0, 5, (random.integers(3, 6), 2))]
