"""The parts of the draw page: pictures of what happens to a drawing, the answer, other ways to bring a digit."""

import json
from pathlib import Path

import numpy as np
import streamlit as st

from vit import data, drawing, ink
from vit.charts import colours, draw
from vit.ui import models, parts, state

MISTAKES = Path(__file__).parents[2] / "assets" / "explorer" / "mistakes.json"
MISTAKES_SHOWN = 4
SAMPLES_PER_ROW = 7


def has_drawing() -> bool:
    return state.get().drawing is not None


def has_strokes() -> bool:
    return has_drawing() and bool(state.get().drawing.strokes)


def sentence(view) -> str:
    config = view.config
    pixels = f"{config.image_size} x {config.image_size}"
    inked = int((view.trace.image.reshape(config.image_size, config.image_size, -1) > 0).any(-1).sum())
    return (f"Of your drawing the model gets {pixels} pixels, {inked} of them with ink. "
            f"It reads a **{view.trace.prediction}**.")


def steps(view) -> None:
    """From the canvas to what the model reads, in pictures; the last with the grid of its patches."""
    if view is None:
        st.markdown("#### From pen to pixels\nYour ink is cropped, scaled and centred, as the makers of MNIST did "
                    "with theirs. The pictures appear here.")
        return
    found = found_ink(view.drawing)
    seen = view.trace.image if view.trace.image.ndim == 2 else view.trace.image.mean(-1)
    figures = [step_figure(image, caption) for image, caption in (way_to_the_middle(found) if found else [])]
    moved = "centre of mass ({:.1f}, {:.1f}) put in the middle: ".format(*found.centre_of_mass) if found else ""
    figures.append(step_figure(seen, f"{moved}what the model sees", view.config.grid))
    st.html(f"<div style='display:grid;grid-template-columns:1fr 1fr;gap:.8rem'>{''.join(figures)}</div>")


def found_ink(chosen: drawing.Drawing) -> ink.Ink | None:
    """How this drawing's ink was found; None where a picture came whole."""
    code, photographed = st.session_state.get("photo", (None, None))
    return photographed if code == chosen.code else models.ink_of(chosen)


def way_to_the_middle(found: ink.Ink) -> list[tuple[np.ndarray, str]]:
    pictures = {step.name: step.image for step in found.steps}
    left, top, right, bottom = found.box
    height, width = pictures["fitted"].shape
    return [
        (pictures["found"], "the ink"),
        (pictures["cropped"], f"cropped to {right - left} x {bottom - top} pixels"),
        (pictures["fitted"], f"scaled to {width} x {height}, pen like MNIST's"),
    ]


def step_figure(image: np.ndarray, caption: str, grid: int | None = None) -> str:
    shown = image[:: max(1, len(image) // 150), :: max(1, len(image) // 150)]  # it is shown small
    uri = colours.data_uri(colours.paint(shown, colours.INK, 0, 255))
    ratio = image.shape[0] / image.shape[1]
    width = min(100, 100 / ratio)
    lines = ("background-image:linear-gradient(#7d869488 1px,transparent 1px),linear-gradient(90deg,#7d869488 1px,"
             f"transparent 1px);background-size:calc(100%/{grid}) calc(100%/{grid})" if grid else "")
    return (
        f"<figure style='margin:0'><div style='aspect-ratio:1;background:#0b0d12;border-radius:6px;display:flex;"
        f"align-items:center;justify-content:center'><div style='position:relative;width:{width:.1f}%'>"
        f"<img src='{uri}' alt='{caption}' style='width:100%;display:block;image-rendering:pixelated'>"
        f"<div style='position:absolute;inset:0;{lines}'></div></div></div>"
        f"<figcaption style='font-size:.9rem;margin:.2rem 0 .6rem'>{caption}</figcaption></figure>"
    )


def answer(view) -> None:
    if view is None:
        st.markdown("#### The answer\nappears with your first stroke, and follows each further one.")
        return
    digit = view.trace.prediction
    label = view.drawing.label if view.reads_digits else None
    comment = f"{view.confidence:.1%} sure" if view.sure else f"not sure: {view.confidence:.1%} at best"
    if label is not None and label != digit:
        comment += f" · its writer meant {label}"
    colour = "inherit" if view.sure else colours.CALM
    st.html(
        f"<div data-testid='answer' style='font-size:6.5rem;font-weight:700;line-height:1;color:{colour}'>{digit}</div>"
        f"<div style='font-size:1.2rem;margin-bottom:.5rem'>{comment}</div>{draw.bars(view.trace.probabilities)}"
    )


def equation(view) -> None:
    """All that the model is, from outside: a picture in, the most probable class out."""
    config, answer = view.config, view.trace.prediction
    shape = config.image_size, config.image_size, config.channels
    parts.equation(
        r"\mathbf{x} \in \mathbb{R}^{H \times W \times C} \;\longmapsto\; \hat{y} = \argmax_j\, p_j",
        rf"{shape[0]} \cdot {shape[1]} \cdot {shape[2]} = {np.prod(shape)} \text{{ numbers}} \;\longmapsto\; "
        rf"\hat{{y}} = {answer}, \quad p_{{{answer}}} = {view.confidence:.4f}",
    )


def samples() -> None:
    """Digits of MNIST's test set, some of which the model gets wrong."""
    right, wrong = sample_indices()
    indices = right + wrong
    images, labels = data.load("mnist", "test")
    chosen = state.get().drawing
    st.markdown("**Or pick one** from MNIST's test set, which the explorer's model has never learned from. "
                f"It gets the last {len(wrong)} wrong.")
    parts.grid_picture(
        draw.sheet(images[indices], SAMPLES_PER_ROW), -(-len(indices) // SAMPLES_PER_ROW), SAMPLES_PER_ROW,
        key="samples", alt="sample digits", width=620, lines=False,
        chosen=[indices.index(chosen.sample)] if chosen and chosen.sample in indices else [],
        labels=[f"written as {labels[i]}" for i in indices],
        on_choose=lambda cell: state.draw(drawing.from_sample(indices[min(cell, len(indices) - 1)])),
    )


@st.cache_data
def sample_indices() -> tuple[list[int], list[int]]:
    """One of each digit, and some of those that the shipped model is known to misread."""
    _, labels = data.load("mnist", "test")
    mistakes = json.loads(MISTAKES.read_text())[:MISTAKES_SHOWN]
    return [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)], mistakes


@st.dialog("A digit on paper")
def paper() -> None:
    """A picture file, or the camera. The digit that is found closes the dialog."""
    st.markdown("Write one digit on paper, with a dark pen, so large that it fills much of the picture.")
    source = st.segmented_control("Where is the picture?", ("a file", "the camera"), default="a file", required=True)
    if source == "a file":
        file = st.file_uploader("Upload a picture", type=["png", "jpg", "jpeg", "webp", "gif", "bmp", "tiff"])
    else:
        file = st.camera_input("Take a picture")
    if file is None:
        return
    try:
        found = ink.from_photo(file)
    except ink.UnreadablePicture as error:
        st.error(str(error))
        return
    if found is None:
        st.warning("There is no ink in this picture that stands out from the paper.")
        return
    picture = drawing.from_picture(found.image)
    st.session_state.photo = (picture.code, found)
    state.draw(picture)
    st.rerun()
