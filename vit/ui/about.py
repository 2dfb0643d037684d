"""What a model is and how it came to be, by the details that lie with its weights."""

from typing import TYPE_CHECKING

import streamlit as st

from vit import mistakes
from vit.charts import learning
from vit.datasets import DATASETS
from vit.details import Details
from vit.ui import models, parts
from vit.ui.show import show as show_picture

if TYPE_CHECKING:
    from vit.model import VisionTransformer

NAMED = 5  # classes, by their names
MIXED_UP = 3  # pairs of digits


@st.dialog("About this model", width="medium")
def show(model_id: str) -> None:
    try:
        model, details = models.load(model_id)
    except (ValueError, FileNotFoundError) as error:
        st.warning(parts.as_text(str(error)))
        return
    config = model.config

    def share(weights: int) -> str:
        return f"{weights / config.parameters:.1%}"

    st.markdown(
        f"**{models.name_of(model_id)}** has **{config.parameters:,} weights**: {config.depth} blocks of "
        f"{config.heads} heads, vectors of D = {config.width} numbers, {config.patches} patches of "
        f"{config.patch_size} x {config.patch_size} pixels. Of the weights {share(config.mlp_parameters)} lie in the "
        f"MLPs and {share(config.attention_parameters)} in attention; the others embed the patches, mark positions, "
        "scale what is normalised, and weigh the classes."
    )
    if details.origin:
        st.markdown(from_elsewhere(details, config.classes))
    elif details.epochs and details.test_accuracy is not None:
        st.markdown(f"{how_it_learned(details)} It reads **{details.test_accuracy:.2%}** of the 10,000 test images, "
                    f"which it has not learned from, and says “not sure” below {details.unsure_below:.0%}."
                    f"{mixed_up(model) if details.dataset == 'mnist' else ''}")
        show_picture(learning.accuracy_by_epoch(details.epochs), "about_epochs")
        changed = "mirrored, moved and lit differently" if details.flips else "bent"
        st.caption(f"{learning.left_out(details.epochs)} Training images are {changed}, and in the earlier epochs many "
                   "are shown only in part, so they are harder to read than the validation images. How to train it "
                   "again: assets/README.md.")
    elif details.epoch is not None:
        flips = "half of the images mirrored" if details.flips else "no image mirrored"
        reads = (f" It reads **{details.validation_accuracy:.2%}** of the validation images."
                 if details.validation_accuracy is not None else "")
        whence = ("is recorded: see Claims. You see it" if model_id in models.RECORDED
                  else "comes from a run on this server,")
        st.markdown(f"It {whence} after epoch {details.epoch} on "
                    f"{DATASETS[details.dataset].title}, {flips}.{reads}")
    else:
        st.markdown("Its weights are random: it has learned nothing. What you see in it is what training starts from.")


def how_it_learned(details: Details) -> str:
    mirrored = "half of them mirrored" if details.flips else "never from mirrored ones"
    learned = (f"It learned from {DATASETS[details.dataset].title}'s training images in {len(details.epochs)} epochs, "
               f"{mirrored}")
    averaged = ", ".join(map(str, details.mean_of_epochs))
    return f"{learned}; its weights are the mean of those after epochs {averaged}." if averaged else f"{learned}."


def mixed_up(model: "VisionTransformer") -> str:
    """For what it most often takes a test digit; nothing of a model that misreads none of those that were recorded."""
    found = mistakes.taken_for(model)
    if not found:
        return ""
    often = [f"a {one.meant} for a {one.read} ({one.times} times)" for one in found[:MIXED_UP]]
    return f" Where it misreads one, it most often takes {', '.join(often)}."


def from_elsewhere(details: Details, classes: int) -> str:
    """Whose weights they are, what they tell apart, and how their makers prepare pictures."""
    named = ", ".join(details.classes[:NAMED])
    told = [f"Its weights come from **{parts.as_text(details.origin)}** and were imported as they are. It tells "
            f"{classes:,} classes apart: {parts.as_text(named)}{' …' if classes > NAMED else '.'}"]
    if prepared := details.preparation:
        fitted = (f"the shorter side becomes {prepared.resize} pixels long and the middle {prepared.crop} x "
                  f"{prepared.crop} are cut out" if prepared.cut else
                  f"the whole picture is scaled to {prepared.crop} x {prepared.crop} pixels")
        mean, deviation = (", ".join(f"{value:g}" for value in values)
                           for values in (prepared.mean, prepared.deviation))
        told.append(f"**How its pictures are prepared**: {fitted} ({parts.as_text(prepared.interpolation)}); then from "
                    f"each pixel, between 0 and 1, the mean ({mean}) is taken away, and the rest is divided by the "
                    f"deviation ({deviation}).")
        if prepared.assumed:
            told.append("Nothing that came with the weights says so: it is what is usual for their maker.")
    return "\n\n".join(told)
