"""Pictures of the draw page: the way of the ink, digits to pick, and the answer."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vit.charts import colours
from vit.charts.classes import FEW, TOP, likeliest, with_others
from vit.charts.mosaic import mosaic
from vit.charts.picture import PixelPicture, TemplatePicture

SAMPLES_PER_ROW = 7
MOST_PIXELS = 168  # along a side: a step is shown small, and often


class Bar(NamedTuple):
    """One class's probability, or that of all classes not shown, and where there was one before a change, that too."""

    name: str
    share: float
    text: str
    best: bool
    before: float | None


def answer(
    probabilities: np.ndarray, sure: bool, *, name: str, comment: str = "", before: np.ndarray | None = None,
    classes: Sequence[str] = (),
) -> TemplatePicture:
    """The answer, large, above the probability of each class, with its name if it has one: as quick to show as text."""
    best = int(probabilities.argmax())
    shown = likeliest(probabilities, *(() if before is None else (int(before.argmax()),)))
    bars = [
        Bar(classes[number] if classes and isinstance(number, int) else str(number),
            round(share := float(probabilities[of].sum()), 4), f"{share:.1%}", number == best,
            None if before is None else round(float(before[of].sum()), 4))
        for number, of in with_others(len(probabilities), shown).items()
    ]
    told = ", ".join(f"{bar.name} {bar.text}" for bar in bars)
    thing = "class" if classes else "digit"
    values = {"name": name, "answer": classes[best] if classes else best, "sure": sure, "comment": comment,
              "bars": bars}
    return TemplatePicture("answer", values, alt=f"probability of each {thing}: {told}")


def change(before: np.ndarray, after: np.ndarray, changes: str, names: Sequence[str]) -> TemplatePicture:
    """The answer before and after something was taken away, in one line."""
    was, now = int(before.argmax()), int(after.argmax())
    values = {"was": names[was], "was_share": f"{before[was]:.1%}", "now": names[now], "now_share": f"{after[now]:.1%}",
              "other": was != now, "changes": changes}
    told = f"with {changes} it is {names[now]}, {after[now]:.1%}" if changes else "nothing is taken away"
    return TemplatePicture("change", values, alt=f"the answer was {names[was]}, {before[was]:.1%}; {told}")


def no_answer(classes: int, comment: str) -> TemplatePicture:
    """As high as an answer, so that the page does not move when it comes."""
    rows = [*range(classes)] if classes <= FEW else [""] * (TOP + 1)
    bars = [Bar(str(row), 0, "", best=False, before=None) for row in rows]
    values = {"name": "no-answer", "answer": "?", "sure": False, "comment": comment, "bars": bars}
    return TemplatePicture("answer", values, alt="no answer yet")


class Step(NamedTuple):
    """One picture on the way from the canvas to the model."""

    source: str
    caption: str
    width: float  # share of a square that is as wide as the picture's longer side
    grid: int  # lines along a side; 0 for none
    wide: bool = False  # three squares side by side


def step(image: np.ndarray, caption: str, grid: int = 0) -> Step:
    every = -(-max(image.shape) // MOST_PIXELS)
    pixels = colours.paint(image[::every, ::every], colours.INK, 0, 255)
    height, width = image.shape
    return Step(colours.data_uri(pixels), caption, round(min(1, width / height), 3), grid)


def steps(way: Iterable[tuple[np.ndarray, str]], seen: np.ndarray, caption: str, grid: int) -> TemplatePicture:
    """From the canvas to what the model reads; the last with the grid of its patches."""
    grey = seen if seen.ndim == 2 else seen.mean(-1)
    figures = [*(step(image, words) for image, words in way), step(grey, caption, grid)]
    return TemplatePicture("steps", {"figures": figures}, alt="what becomes of your drawing, step by step")


def samples(images: np.ndarray, labels: Iterable[int], chosen: int | None) -> PixelPicture:
    """Digits to pick from, with a little air between them."""
    return PixelPicture(
        mosaic(colours.paint(images, colours.INK, 0, 255), SAMPLES_PER_ROW, fill=0),
        -(-len(images) // SAMPLES_PER_ROW), SAMPLES_PER_ROW, alt="sample digits", width=620,
        chosen=[] if chosen is None else [chosen], labels=[f"written as {label}" for label in labels],
    )
