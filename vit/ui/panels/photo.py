"""Draw, where the model reads colours: a photo of the visitor's or of ours, the square of it that the model gets, and
its answer."""

from functools import cache

import numpy as np
import streamlit as st

from vit import drawing
from vit.charts import photo as pictures
from vit.charts.picture import PixelPicture
from vit.data import normalise
from vit.drawing import colour, files
from vit.drawing.colour import Crop
from vit.ui import models, parts, photos, state
from vit.ui.panels import draw
from vit.ui.photos import Source
from vit.ui.show import show
from vit.ui.view import View


def sentence(view: View) -> str:
    side = view.config.image_size
    return (f"Of your {view.thing} the model gets {side} x {side} pixels, each with a red, a green and a blue. "
            f"It reads {view.told(view.prediction)}.")


def photo_to_answer(view: View) -> None:
    """The photo with its square, what becomes of it, and the answer, side by side."""
    source = photos.source_of(view.drawing)
    row = st.container(horizontal=True, gap="medium", key="drawing")
    with row.container(width=drawing.SIDE):
        whole(view, source)
        another()
    with row.container(width=236, key="drawing_steps"):
        steps(view, source)
    with row.container(width="stretch", key="drawing_answer"):
        draw.answer(view.reading)


def whole(view: View, source: Source | None) -> None:
    """The photo, and simple ways to move and size the square."""
    if source is None:
        st.markdown("#### A picture from a link\nA link holds the square that the model gets, not the photo around it. "
                    "Choose a photo below, and the square can be moved." if view.is_photo else
                    "#### A drawing\nThis model reads photos, and this link shows it a drawing. Choose a photo below.")
        return
    show(pictures.framed(source.pixels, source.crop), "photo_whole",
         lambda cell: move(view, source, source.crop.about(*pictures.place_of(cell, source.pixels))))
    height, width = source.pixels.shape[:2]
    largest = min(height, width)
    if largest <= colour.SMALLEST_CROP:
        return
    st.session_state.crop_size = min(max(source.crop.side, colour.SMALLEST_CROP), largest)
    st.slider("size of the square, in pixels of the photo; click the photo to move it", colour.SMALLEST_CROP, largest,
              key="crop_size", on_change=lambda: move(
                  view, source, source.crop.about(*source.crop.middle, st.session_state.crop_size)))


def move(view: View, source: Source, crop: Crop) -> None:
    state.draw(photos.moved(source, crop, models.load(view.model_id)))


def another() -> None:
    if st.button("Another photo", icon=":material/photo_camera:"):
        choose_photo()


def steps(view: View, source: Source | None) -> None:
    if not view.is_photo:
        return
    cut = colour.cut_out(source.pixels, source.crop) if source else None
    tensor = normalise(view.image[None], view.normalisation)[0]
    normalised = np.moveaxis(tensor.numpy(), 0, -1)
    show(pictures.steps(cut, view.image, normalised, view.config.grid, "scaled to " if source else "",
                        view.normalisation))
    if source and not source.name:
        st.caption(in_the_link(view, source))


def in_the_link(view: View, source: Source) -> str:
    """Whether the visitor's link holds the photo's own pixels, or fewer numbers."""
    length = len(view.drawing.code)
    scaled = colour.scaled(colour.cut_out(source.pixels, source.crop), view.config.image_size,
                           models.interpolation(view.details))
    if np.array_equal(scaled, view.image):
        return f"These pixels stand in the address, in {length:,} letters: a link brings them back number for number."
    apart = np.abs(scaled.astype(float) - view.image).mean()
    return (f"So that they fit into a link, the pixels are kept as a WebP picture of {length:,} letters: they are off "
            f"by {apart:.1f} of 255 on average. The model gets them as the link brings them back.")


def samples(view: View) -> None:
    """Photos to pick from."""
    source = photos.source_of(view.drawing)
    st.markdown(f"**Or pick one.** {known(view)}")
    show(sample_sheet(source.name if source else ""), "photo_samples", lambda cell: state.draw(sample(view, cell)))


@cache
def sample_sheet(chosen: str) -> PixelPicture:
    return pictures.samples({name: colour.sample(name) for name in colour.SAMPLES}, colour.SAMPLES, chosen)


def sample(view: View, cell: int) -> drawing.Drawing:
    """One of our photos, as its model gets it."""
    names = list(colour.SAMPLES)
    return photos.picked(names[min(cell, len(names) - 1)], models.load(view.model_id))


def known(view: View) -> str:
    """What the model can answer at all."""
    if view.dataset is None:
        return f"The model knows {view.config.classes:,} classes."
    strange = [words for name, words in colour.SAMPLES.items() if name not in view.class_names]
    return (f"The model knows {len(view.class_names)} things: {', '.join(view.class_names)}. "
            f"{', '.join(strange).capitalize()}: none of them, and it has to answer all the same.")


def try_this(view: View) -> None:
    parts.try_this("make the square smaller and click your way over the photo. How much of a thing does the model need "
                   "to see, and what does it say where there is none?")


@st.dialog("Your photo")
def choose_photo() -> None:
    """A picture file, or the camera. What can be read closes the dialog."""
    st.markdown("It stays in your session: the server keeps nothing of it, and a link holds only the square that the "
                "model gets.")
    file = parts.picture_file("photo")
    if file is None:
        return
    try:
        pixels = colour.read_photo(file)
    except files.UnreadablePicture as error:
        st.error(str(error))
        return
    state.draw(photos.uploaded(pixels, models.load(state.model())))
    st.rerun()
