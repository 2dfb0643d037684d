"""The photo that a visitor's picture is cut from: it lives in the session only, and in the link as the square that the
model gets. Reading it changes nothing."""

from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from vit import drawing as drawings
from vit.drawing import Drawing, colour
from vit.drawing.colour import Crop
from vit.ui import models

REMEMBERED = 60  # crops of an uploaded photo, as many as addresses


@dataclass(frozen=True, eq=False)
class Source:
    """A photo, and which square of it is shown to the model."""

    pixels: np.ndarray
    crop: Crop
    name: str = ""  # of one of ours


@dataclass(frozen=True, eq=False)
class Upload:
    """A visitor's own photo, and the squares cut from it: by their codes, each with the size it was made for."""

    pixels: np.ndarray
    crops: dict[str, tuple[Crop, int]] = field(default_factory=dict)


def source_of(drawing: Drawing) -> Source | None:
    """None where only the square is left, as in a link from elsewhere."""
    if drawing.part_of:
        name, crop = drawing.part_of
        return Source(colour.sample(name), crop, name)
    upload: Upload | None = st.session_state.get("upload")
    return Source(upload.pixels, upload.crops[drawing.code][0]) if upload and drawing.code in upload.crops else None


def first(loaded: models.Loaded) -> Drawing:
    """What a model for photos is shown before a visitor has chosen one."""
    return picked(next(iter(colour.SAMPLES)), loaded)


def picked(name: str, loaded: models.Loaded) -> Drawing:
    return drawings.from_sample_photo(name, colour.in_the_middle(colour.sample(name), usual_share(loaded)))


def uploaded(pixels: np.ndarray, loaded: models.Loaded) -> Drawing:
    st.session_state.upload = Upload(pixels)
    return moved(Source(pixels, colour.in_the_middle(pixels)), colour.in_the_middle(pixels, usual_share(loaded)),
                 loaded)


def moved(source: Source, crop: Crop, loaded: models.Loaded) -> Drawing:
    """Another square of the same photo."""
    crop = crop.inside(source.pixels)
    if source.name:
        return drawings.from_sample_photo(source.name, crop)
    side = loaded.model.config.image_size
    picture = colour.scaled(colour.cut_out(source.pixels, crop), side, models.interpolation(loaded.details))
    drawing = drawings.from_photo(picture)
    crops = st.session_state.upload.crops
    crops[drawing.code] = crop, side
    if len(crops) > REMEMBERED:
        del crops[next(iter(crops))]
    return drawing


def for_size(drawing: Drawing, loaded: models.Loaded) -> Drawing:
    """The same square for a model of another size, as long as the photo is there to take more or fewer pixels from."""
    upload: Upload | None = st.session_state.get("upload")
    crop, side = upload.crops.get(drawing.code, (None, 0)) if upload else (None, 0)
    if upload is None or crop is None or side == loaded.model.config.image_size:
        return drawing
    return moved(Source(upload.pixels, crop), crop, loaded)


def usual_share(loaded: models.Loaded) -> float:
    """How much of a photo's shorter side the makers of a model show it."""
    prepared = loaded.details.preparation
    return prepared.crop / prepared.resize if prepared and prepared.cut else 1.0
