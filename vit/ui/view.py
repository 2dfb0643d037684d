"""All that a page is a function of: the visitor's drawing in the visitor's model, and what is chosen there."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vit.charts import patches
from vit.datasets import DATASETS, Dataset, Normalisation
from vit.details import Details
from vit.drawing import Drawing
from vit.ui import beside, markup, models, state

if TYPE_CHECKING:
    from vit.config import ViTConfig
    from vit.model import Probe, VisionTransformer
    from vit.trace import ForwardTrace


@dataclass(frozen=True)
class Reading:
    """A model's answer to a drawing, without the way there."""

    drawing: Drawing
    image: np.ndarray
    probabilities: np.ndarray
    config: "ViTConfig"
    details: Details

    @property
    def dataset(self) -> Dataset | None:
        """What the model has learned to read; of models from elsewhere it is not known."""
        return None if self.details.origin else DATASETS[self.details.dataset]

    @property
    def class_names(self) -> tuple[str, ...]:
        """By number, as many as the model has."""
        names = self.dataset.classes if self.dataset else in_short(self.details.classes)
        count = self.config.classes
        return names if len(names) == count else tuple(map(str, range(count)))

    def word(self, label: int) -> str:
        """A class as sentences call it."""
        return markup.as_text(self.class_names[label])

    def told(self, label: int, mark: str = "**") -> str:
        """The same as an answer: a **7**, or **cat**."""
        return f"{'a ' if self.reads_digits else ''}{mark}{self.word(label)}{mark}"

    @property
    def reads_digits(self) -> bool:
        return self.dataset is DATASETS["mnist"]

    @property
    def prediction(self) -> int:
        return int(self.probabilities.argmax())

    @property
    def confidence(self) -> float:
        return float(self.probabilities.max())

    @property
    def sure(self) -> bool:
        return self.would_be_sure(self.confidence)

    def would_be_sure(self, confidence: float) -> bool:
        return confidence >= self.details.unsure_below


@lru_cache(20)
def in_short(names: tuple[str, ...]) -> tuple[str, ...]:
    """ImageNet's names list synonyms: the first of them, where it says enough to tell two classes apart."""
    short = [name.split(",")[0] for name in names]
    twice = {name for name, count in Counter(short).items() if count > 1}
    return tuple(name if first in twice else first for first, name in zip(short, names, strict=True))


@dataclass(frozen=True)
class View:
    drawing: Drawing
    image: np.ndarray  # as the model gets it
    model: "VisionTransformer"
    model_id: str
    details: Details
    layer: int
    head: int
    token: int
    dark: bool

    @property
    def config(self) -> "ViTConfig":
        return self.model.config

    @property
    def patch(self) -> int:
        """The chosen patch; where CLS is chosen, the patch with the most ink, of a photo with the most contrast."""
        if self.token:
            return self.token - 1
        find = patches.most_varied if self.is_photo else patches.most_inked
        return find(self.image, self.config.patch_size)

    @property
    def is_photo(self) -> bool:
        return self.drawing.kind == "photo"

    @property
    def normalisation(self) -> Normalisation:
        return self.model.normalisation

    @cached_property
    def reading(self) -> Reading:
        answer = models.probabilities(self.model_id, self.drawing, self.image)
        return Reading(self.drawing, self.image, answer, self.config, self.details)

    @cached_property
    def trace(self) -> "ForwardTrace":
        """All that the model computes on the way; a page that shows nothing of it does not wait for it."""
        return models.trace(self.model_id, self.drawing)

    @property
    def prediction(self) -> int:
        return self.reading.prediction

    @property
    def dataset(self) -> Dataset | None:
        return self.reading.dataset

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.reading.class_names

    def word(self, label: int) -> str:
        return self.reading.word(label)

    def told(self, label: int, mark: str = "**") -> str:
        return self.reading.told(label, mark)

    @property
    def answer(self) -> str:
        """What the model says, as sentences call it."""
        return self.word(self.prediction)

    @property
    def thing(self) -> str:
        """What a picture for this model is called."""
        return self.dataset.thing if self.dataset else "picture"

    @property
    def own(self) -> str:
        """What the visitor shows to the model."""
        return "picture" if self.is_photo else "drawing"

    @property
    def reads_digits(self) -> bool:
        return self.reading.reads_digits

    @property
    def confidence(self) -> float:
        return self.reading.confidence

    @property
    def sure(self) -> bool:
        return self.reading.sure

    def would_be_sure(self, confidence: float) -> bool:
        return self.reading.would_be_sure(confidence)

    def weights(self, name: str) -> np.ndarray:
        return self.model.get_parameter(name).detach().numpy()

    def changed_by(self, *interventions: "Probe") -> "ForwardTrace":
        """The same drawing in the same model, with parts taken away."""
        return models.trace(self.model_id, self.drawing, *interventions)


def current() -> View | None:
    """None while there is no ink on the canvas. Reading it changes nothing."""
    choice = state.get()
    return None if choice.drawing is None else of(choice.drawing, choice.model, choice)


def compared(view: View) -> View | None:
    """The same page for what stands beside: another drawing, or another model. None if nothing does.

    Raises ValueError or FileNotFoundError with a sentence if it cannot be had any more.
    """
    choice = state.get()
    code = choice.beside
    if not code:
        return None
    drawing = beside.drawing_in(code)
    return of(drawing, view.model_id, choice) if drawing else of(view.drawing, code, choice)


def of(drawing: Drawing, model_id: str, choice: state.Choice) -> View | None:
    """What this model makes of this drawing, with what the visitor has chosen as far as the model has it."""
    loaded = models.load(model_id)
    image = models.seen(drawing, loaded)
    if image is None:
        return None
    model, details = loaded
    config = model.config
    return View(
        drawing, image, model, model_id, details,
        min(choice.layer, config.depth - 1), min(choice.head, config.heads - 1), min(choice.token, config.tokens - 1),
        dark=is_dark(),
    )


def is_dark() -> bool:
    return st.context.theme.type == "dark"
