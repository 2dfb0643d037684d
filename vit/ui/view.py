"""All that a page is a function of: the visitor's drawing in the visitor's model, and what is chosen there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vit.charts import patches
from vit.datasets import DATASETS, Dataset, Normalisation
from vit.details import Details
from vit.drawing import Drawing
from vit.ui import beside, models, state

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
        names = self.dataset.classes if self.dataset else self.details.classes
        count = self.config.classes
        return names if len(names) == count else tuple(map(str, range(count)))

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


@dataclass(frozen=True)
class View:
    drawing: Drawing
    trace: "ForwardTrace"
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
        """The chosen patch; where CLS is chosen, the patch with the most ink."""
        return self.token - 1 if self.token else patches.most_inked(self.trace.image, self.config.patch_size)

    @property
    def normalisation(self) -> Normalisation:
        return self.model.normalisation

    @property
    def reading(self) -> Reading:
        return Reading(self.drawing, self.trace.image, self.trace.probabilities, self.config, self.details)

    @property
    def dataset(self) -> Dataset | None:
        return self.reading.dataset

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.reading.class_names

    @property
    def thing(self) -> str:
        """What a picture for this model is called."""
        return self.dataset.thing if self.dataset else "picture"

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
    if models.image_of(drawing) is None:
        return None
    model, details = models.load(model_id)
    config = model.config
    return View(
        drawing, models.trace(model_id, drawing), model, model_id, details,
        min(choice.layer, config.depth - 1), min(choice.head, config.heads - 1), min(choice.token, config.tokens - 1),
        dark=is_dark(),
    )


def is_dark() -> bool:
    return st.context.theme.type == "dark"
