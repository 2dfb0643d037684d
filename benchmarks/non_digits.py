"""How sure a model is of what is no digit: `python -m benchmarks.non_digits [--checkpoint NAME_OR_PATH]`.

Real digits of the validation split stand beside them, and choose two numbers: the temperature that makes the
probabilities honest, and the probability below which the app says that it is not sure.
"""

import argparse
import math

import numpy as np

from assets.explorer.recipe.augment import scribbles
from benchmarks.report import logits_of
from vit import checkpoints, data
from vit.drawing import ink
from vit.explain import softmax
from vit.measures import best_temperature, sure_from

SIDE = 200
SEED = 20_000  # far from the seed of the scribbles that the explorer's training saw


def arc(x: float, y: float, radius: float, start: float, end: float) -> list[tuple[float, float]]:
    """A part of a circle; degrees run clockwise on the screen, from the right."""
    turns = np.radians(np.linspace(start, end, 24))
    return [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns]


STAR = [(0.5 + 0.5 * math.sin(0.8 * k * math.pi), 0.5 - 0.5 * math.cos(0.8 * k * math.pi)) for k in range(6)]
SPIRAL = [(0.5 + t / 6 * 0.5 * math.cos(t * math.pi), 0.5 + t / 6 * 0.5 * math.sin(t * math.pi))
          for t in np.linspace(0, 6, 90)]

# Strokes in a box of 1 x 1, y downwards. Letters that look like digits (B, I, O, S, Z) are left out.
SHAPES = {
    "A": [[(0, 1), (0.4, 0), (0.8, 1)], [(0.2, 0.6), (0.6, 0.6)]],
    "E": [[(0.6, 0), (0, 0), (0, 1), (0.6, 1)], [(0, 0.5), (0.5, 0.5)]],
    "F": [[(0.6, 0), (0, 0), (0, 1)], [(0, 0.45), (0.5, 0.45)]],
    "H": [[(0, 0), (0, 1)], [(0.7, 0), (0.7, 1)], [(0, 0.5), (0.7, 0.5)]],
    "K": [[(0, 0), (0, 1)], [(0.6, 0), (0, 0.55), (0.6, 1)]],
    "M": [[(0, 1), (0.1, 0), (0.45, 0.7), (0.8, 0), (0.9, 1)]],
    "N": [[(0, 1), (0, 0), (0.7, 1), (0.7, 0)]],
    "R": [[(0, 1), (0, 0)], arc(0.1, 0.25, 0.25, -90, 90), [(0.1, 0.5), (0.5, 1)]],
    "T": [[(0, 0), (0.8, 0)], [(0.4, 0), (0.4, 1)]],
    "W": [[(0, 0), (0.2, 1), (0.45, 0.3), (0.7, 1), (0.9, 0)]],
    "X": [[(0, 0), (0.7, 1)], [(0.7, 0), (0, 1)]],
    "heart": [[*arc(0.25, 0.25, 0.25, 150, 360), *arc(0.75, 0.25, 0.25, 180, 390), (0.5, 1), (0.03, 0.38)]],
    "smiley": [arc(0.5, 0.5, 0.5, 0, 360), arc(0.3, 0.35, 0.03, 0, 360), arc(0.7, 0.35, 0.03, 0, 360),
               arc(0.5, 0.5, 0.28, 20, 160)],
    "star": [STAR],
    "arrow": [[(0, 0.5), (1, 0.5)], [(0.7, 0.2), (1, 0.5), (0.7, 0.8)]],
    "spiral": [SPIRAL],
    "house": [[(0.1, 1), (0.1, 0.4), (0.5, 0), (0.9, 0.4), (0.9, 1), (0.1, 1)]],
    "hash": [[(0.3, 0), (0.25, 1)], [(0.7, 0), (0.65, 1)], [(0, 0.3), (1, 0.3)], [(0, 0.7), (1, 0.7)]],
    "tick": [[(0, 0.6), (0.35, 1), (1, 0)]],
    "zigzag": [[(0, 0.5), (0.17, 0), (0.33, 1), (0.5, 0), (0.67, 1), (0.83, 0), (1, 0.5)]],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="explorer", help="a shipped model's name, or a file")
    parser.add_argument("--each", type=int, default=25, help="drawings of each shape")
    arguments = parser.parse_args()
    model = checkpoints.load(arguments.checkpoint)

    images, labels = data.load("mnist", "validation")
    logits = logits_of(model, images)
    temperature = best_temperature(logits, labels)
    others = {name: logits_of(model, pictures) for name, pictures in non_digits(arguments.each).items()}
    for name, heat in (("as the model has it", 1.0), ("validation's best", temperature)):
        probabilities = softmax(logits / heat)
        threshold = sure_from(probabilities, labels)
        print(f"temperature {heat:.3f} ({name}): not sure below {threshold:.3f}\n")
        print(f"{'top probability':18} {'n':>5} {'mean':>6} {'10 %':>6} {'half':>6} {'90 %':>6} "
              f"{'over .99':>9} {'not sure':>9}")
        print(row("digits", probabilities.max(axis=1), threshold))
        tops = {group: softmax(values / heat).max(axis=1) for group, values in others.items()}
        print(row("all below", np.concatenate(list(tops.values())), threshold))
        for group, top in tops.items():
            print(row(group, top, threshold))
        print()


def row(name: str, top: np.ndarray, threshold: float) -> str:
    low, half, high = np.quantile(top, [0.1, 0.5, 0.9])
    return (f"{name:18} {len(top):5} {top.mean():6.3f} {low:6.3f} {half:6.3f} {high:6.3f} "
            f"{(top > 0.99).mean():9.1%} {(top < threshold).mean():9.1%}")


def non_digits(each: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(SEED)
    images, labels = data.load("mnist", "validation")
    groups = {"scribbles": scribbles(20 * each, SEED)}
    groups |= {name: draw(strokes, each, random) for name, strokes in SHAPES.items()}
    groups |= {f"mirrored {digit}": images[labels == digit][:, :, ::-1] for digit in (2, 3, 5, 7)}
    return groups


def draw(strokes: list[list[tuple[float, float]]], count: int, random: np.random.Generator) -> np.ndarray:
    """A shape as an unsteady hand would draw it, again and again."""
    pictures = []
    for _ in range(count):
        tilt = np.eye(2) + random.normal(0, 0.08, (2, 2))
        drawing = ink.from_strokes([waver(np.array(stroke) @ tilt, random) for stroke in strokes], SIDE)
        pictures.append(drawing.image)
    return np.stack(pictures)


def waver(points: np.ndarray, random: np.random.Generator) -> list[tuple[float, float]]:
    """A stroke set down a little beside its place, with a trembling pen, in the middle of the sheet."""
    beside, tremble = random.normal(0, 0.02, 2), random.normal(0, 0.01, points.shape)
    return [(float(x), float(y)) for x, y in SIDE * (0.2 + 0.6 * (points + beside + tremble))]


if __name__ == "__main__":
    main()
