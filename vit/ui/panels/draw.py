"""Draw: a digit from pen, sample or photo; what the model sees of it; its answer. There may be no ink yet."""

from functools import cache

import numpy as np
import streamlit as st

from vit import data, drawing, mistakes
from vit.charts import draw
from vit.charts.picture import PixelPicture
from vit.datasets import DATASETS
from vit.drawing import ink
from vit.numbers import latex_word
from vit.ui import canvas, live, models, parts, state
from vit.ui.show import show
from vit.ui.view import Reading, View

MISTAKES_SHOWN = 4


def sentence(view: View | None) -> str:
    if view is None:
        return "Draw a digit from 0 to 9, or pick one. The model reads along."
    config = view.config
    pixels = f"{config.image_size} x {config.image_size}"
    inked = int((view.image.reshape(config.image_size, config.image_size, -1) > 0).any(-1).sum())
    return (f"Of your drawing the model gets {pixels} pixels, {inked} of them with ink. "
            f"It reads {view.told(view.prediction)}.")


def drawing_to_answer(view: View | None) -> None:
    """The canvas, what becomes of the ink, and the answer, side by side."""
    row = st.container(horizontal=True, gap="medium", key="drawing")
    with row.container(width=drawing.SIDE):
        canvas.show()
        canvas_buttons()
    live.forget()
    with row:
        read_along(view.reading if view else None, state.drawing())


@st.fragment
def read_along(drawn: Reading | None, drawing_on_page: drawing.Drawing | None) -> None:
    """What becomes of the ink, and the answer. While the pen is down they follow it, and the page stays as it is."""
    if state.drawing() != drawing_on_page:
        st.rerun()  # Streamlit 1.67 runs but the fragment when the canvas and the pen's companion tell at the same time
    reading, found = live.reading() or (drawn, found_ink(drawn.drawing) if drawn else None)
    row = st.container(horizontal=True, gap="medium", key="read_along")
    with row.container(width=236, key="drawing_steps"):
        steps(reading, found)
    with row.container(width="stretch", key="drawing_answer"):
        answer(reading)
    live.listen()


def canvas_buttons() -> None:
    chosen = state.drawing()
    with st.container(horizontal=True):
        st.button("Undo", icon=":material/undo:", on_click=canvas.undo, disabled=not (chosen and chosen.strokes))
        st.button("Clear", icon=":material/delete:", on_click=canvas.clear, disabled=chosen is None)
        if st.button("Photo", icon=":material/photo_camera:"):
            photo()


def steps(reading: Reading | None, found: ink.Ink | None) -> None:
    """From the canvas to what the model reads, in pictures."""
    if reading is None:
        st.markdown("#### From pen to pixels\nYour ink is cropped, scaled and centred, as the makers of MNIST did "
                    "with theirs. The pictures appear here.")
        return
    moved = "centre of mass ({:.1f}, {:.1f}) put in the middle: ".format(*found.centre_of_mass) if found else ""
    show(draw.steps(way_to_the_middle(found) if found else [], reading.image, f"{moved}what the model sees",
                    reading.config.grid))


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


def answer(reading: Reading | None) -> None:
    if reading is None:
        classes = len(DATASETS["mnist"].classes)
        show(draw.no_answer(classes, "comes with your first stroke"))
        return
    comment = f"{reading.confidence:.1%} sure" if reading.sure else f"not sure: {reading.confidence:.1%} at best"
    label = reading.drawing.label if reading.reads_digits else None
    if label is not None and label != reading.prediction:
        comment += f" · its writer meant {label}"
    show(draw.answer(reading.probabilities, reading.sure, name="answer", comment=comment,
                     classes=() if reading.reads_digits else reading.class_names))


def samples(view: View | None) -> None:
    """Digits of MNIST's test set, some of which the model gets wrong."""
    right, wrong = sample_indices()
    indices = right + wrong
    chosen = view.drawing.sample if view else None
    st.markdown("**Or pick one** from MNIST's test set, which the explorer's model has never learned from. "
                f"It gets the last {len(wrong)} wrong.")
    show(sample_sheet(indices.index(chosen) if chosen in indices else None), "samples",
         lambda cell: state.draw(drawing.from_sample(indices[min(cell, len(indices) - 1)])))
    if in_colour := models.shipped_for_photos():
        st.button("Or show a photo to a model that reads colours", icon=":material/image:", on_click=state.choose,
                  kwargs={"model": in_colour})


@cache
def sample_sheet(chosen: int | None) -> PixelPicture:
    right, wrong = sample_indices()
    images, labels = data.load("mnist", "test")
    return draw.samples(images[right + wrong], labels[right + wrong], chosen)


@cache
def sample_indices() -> tuple[list[int], list[int]]:
    """One of each digit, and some of those that the shipped model is known to misread."""
    _, labels = data.load("mnist", "test")
    one_of_each = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    return one_of_each, mistakes.indices()[:MISTAKES_SHOWN]


def equation(view: View | None) -> None:
    """All that the model is, from outside: a picture in, the most probable class out."""
    if view is None:
        return
    config, best = view.config, latex_word(view.class_names[view.prediction])
    shape = config.image_size, config.image_size, config.channels
    parts.equation(
        r"\mathbf{x} \in \mathbb{R}^{H \times W \times C} \;\longmapsto\; \hat{y} = \argmax_j\, p_j",
        (rf"{shape[0]} \cdot {shape[1]} \cdot {shape[2]} = {np.prod(shape)} \text{{ numbers}}",
         rf"\longmapsto\; \hat{{y}} = {best}, \quad p_{{{best}}} = {view.confidence:.4f}"),
    )


def try_this(view: View | None) -> None:
    parts.try_this("draw the same digit small, in a corner, and then as large as the canvas. The pictures beside it "
                   "tell why the answer hardly changes.")


@st.dialog("A digit on paper")
def photo() -> None:
    """A picture file, or the camera. The digit that is found closes the dialog."""
    st.markdown("Write one digit on paper, with a dark pen, so large that it fills much of the picture.")
    file = parts.picture_file("picture")
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
