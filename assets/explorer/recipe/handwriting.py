"""Digits as other schools teach them: a flag on the 1, a hook under the 9, a bar through the 7.

MNIST's writers hardly did so, many others do. The strokes are added to MNIST's own digits.
"""

import math

import numpy as np
from PIL import Image, ImageDraw

from vit.drawing import ink

FINE = 4  # strokes are added on a picture so many times as large


def pool(images: np.ndarray, labels: np.ndarray, each: int, seed: int) -> dict[int, np.ndarray]:
    """For 1, 7 and 9, so many of these images in another style."""
    random = np.random.default_rng(seed)
    return {
        digit: np.stack([
            restyled(images[i], digit, random) for i in random.choice(np.flatnonzero(labels == digit), each)
        ])
        for digit in (1, 7, 9)
    }


def restyled(image: np.ndarray, digit: int, random: np.random.Generator) -> np.ndarray:
    """A 1, 7 or 9 of MNIST with a stroke of another school, cropped and centred again."""
    picture = Image.fromarray(image).resize((ink.FIELD * FINE,) * 2, Image.Resampling.BICUBIC)
    pen = Pen(picture, random)
    {1: pen.flag, 7: pen.bar, 9: pen.hook}[digit]()
    grey = np.asarray(picture)
    return ink.from_canvas(np.dstack([grey, grey, grey, np.full_like(grey, 255)])).image


class Pen:
    def __init__(self, picture: Image.Image, random: np.random.Generator):
        self.random, self.draw = random, ImageDraw.Draw(picture)
        self.rows, self.columns = np.nonzero(np.asarray(picture) > 128)
        self.height = self.rows.max() - self.rows.min() + 1
        self.width = round(FINE * random.uniform(1.8, 3))

    def flag(self) -> None:
        """From the top of the 1 down to the left; sometimes a foot as well."""
        x, y = self.at_row(self.rows.min() + self.width / 2)
        length, turn = self.some(0.18, 0.55), math.radians(self.random.uniform(35, 78))
        self.stroke((x, y), (x - length * math.cos(turn), y + length * math.sin(turn)))
        if self.random.random() < 0.25:
            x, y = self.at_row(self.rows.max() - self.width / 2)
            self.stroke((x - self.some(0.12, 0.35), y), (x + self.some(0.12, 0.35), y))

    def bar(self) -> None:
        """Across the stem of the 7; sometimes a serif at the left end of its roof."""
        if self.random.random() < 0.8:
            x, y = self.at_row(self.rows.min() + self.some(0.42, 0.62))
            rise = self.some(-0.06, 0.06)
            self.stroke((x - self.some(0.15, 0.32), y + rise), (x + self.some(0.12, 0.3), y - rise))
        if self.random.random() < 0.6:
            roof = self.rows < self.rows.min() + 0.35 * self.height
            left = np.flatnonzero(roof)[self.columns[roof].argmin()]
            x, y = float(self.columns[left]), float(self.rows[left])
            self.stroke((x, y), (x + self.some(-0.08, 0.05), y + self.some(0.1, 0.25)))

    def hook(self) -> None:
        """From the foot of the 9 in a curve to the left, and up again for some."""
        x, y = self.at_row(self.rows.max() - self.width / 2)
        reach, drop, rise = self.some(0.2, 0.6), self.some(0, 0.12), self.some(-0.05, 0.2)
        curve = [
            (x - reach * t, y + drop * math.sin(math.pi * t) - rise * t * t) for t in np.linspace(0, 1, 8)
        ]
        self.stroke(*curve)

    def some(self, low: float, high: float) -> float:
        """A length, as a part of the digit's height."""
        return self.random.uniform(low, high) * self.height

    def at_row(self, row: float) -> tuple[float, float]:
        nearest = np.abs(self.rows - row) <= np.abs(self.rows - row).min()
        return float(self.columns[nearest].mean()), float(row)

    def stroke(self, *points: tuple[float, float]) -> None:
        radius = self.width / 2
        self.draw.line(points, fill=255, width=self.width, joint="curve")
        for x, y in points:
            self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
