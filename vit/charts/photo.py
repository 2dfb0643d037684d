"""Pictures of a photo on its way to a model: the square that is cut from it, its pixels, its three colours."""

from collections.abc import Mapping

import numpy as np

from vit.charts import colours
from vit.charts.draw import MOST_PIXELS, Step
from vit.charts.mosaic import mosaic, outline
from vit.charts.picture import PixelPicture, TemplatePicture
from vit.datasets import Normalisation
from vit.drawing.colour import Crop, cut_out, in_the_middle, scaled
from vit.numbers import plain

CELLS = 24  # along the longer side of a photo: where the square can be moved to by a click
SHOWN = 560  # pixels of its longer side on the screen
THUMBNAIL = 120
OUTSIDE = 0.35  # of their light is left to the pixels that the model does not get


def framed(photo: np.ndarray, crop: Crop) -> PixelPicture:
    """The whole photo, with a frame around the square that is cut out, and what is left over in the dark."""
    height, width = photo.shape[:2]
    rows, columns = (max(round(CELLS * side / max(height, width)), 1) for side in (height, width))
    every = max(SHOWN // max(height, width), 1)
    pixels = (photo * OUTSIDE).astype(np.uint8)
    pixels[crop.top : crop.top + crop.side, crop.left : crop.left + crop.side] = cut_out(photo, crop)
    pixels = pixels.repeat(every, 0).repeat(every, 1)
    top, left, side = (every * value for value in (crop.top, crop.left, crop.side))
    outline(pixels, top, left, top + side, left + side, thickness=3)
    return PixelPicture(
        pixels, rows, columns, alt=f"your photo; the model gets a square of {crop.side} by {crop.side} pixels of it",
        width=SHOWN * 3 // 4, photo=True, labels=["put the square here"] * (rows * columns),
    )


def place_of(cell: int, photo: np.ndarray) -> tuple[int, int]:
    """The pixel in the middle of a cell of that picture."""
    height, width = photo.shape[:2]
    rows, columns = (max(round(CELLS * side / max(height, width)), 1) for side in (height, width))
    row, column = divmod(cell, columns)
    return int((column + 0.5) * width / columns), int((row + 0.5) * height / rows)


def steps(cut: np.ndarray | None, seen: np.ndarray, normalised: np.ndarray, grid: int, scaling: str,
          normalisation: Normalisation) -> TemplatePicture:
    """From the square of a photo to the numbers that the model gets: (H, W, 3) and (H, W, 3)."""
    side, figures = len(seen), []
    if cut is not None:
        figures.append(Step(colours.photo_uri(scaled(cut, min(len(cut), MOST_PIXELS))),
                            f"cut out: {len(cut)} x {len(cut)} pixels", 1, 0))
    figures.append(Step(colours.data_uri(seen), f"{scaling}{side} x {side}: what the model sees", 1, grid))
    mean, deviation = (", ".join(f"{value:.2f}" for value in values)
                       for values in (normalisation.mean, normalisation.deviation))
    figures.append(Step(
        colours.data_uri(by_colour(normalised)),
        f"normalised: its red, green and blue, minus ({mean}), divided by ({deviation}); from "
        f"{plain(normalised.min())} (blue) over 0 (dark) to {plain(normalised.max())} (red)", 1, 0, wide=True))
    return TemplatePicture("steps", {"figures": figures}, alt="what becomes of your photo, step by step")


def by_colour(normalised: np.ndarray) -> np.ndarray:
    """(H, W, 3) as three maps of signed values side by side, on one scale."""
    every = -(-len(normalised) // MOST_PIXELS)
    limit = colours.limit_of(normalised)
    maps = colours.paint(np.moveaxis(normalised[::every, ::every], -1, 0), colours.signed(dark=True), -limit, limit)
    return np.concatenate(list(maps), axis=1)


def samples(photos: Mapping[str, np.ndarray], words: Mapping[str, str], chosen: str) -> PixelPicture:
    """Photos to pick from, each as the square in its middle."""
    tiles = np.stack([scaled(cut_out(photo, in_the_middle(photo)), THUMBNAIL) for photo in photos.values()])
    names = list(photos)
    return PixelPicture(
        mosaic(tiles, len(tiles), gap=2, fill=0), 1, len(tiles), alt="photos to pick from", width=620, photo=True,
        chosen=[names.index(chosen)] if chosen in names else [], labels=[words[name] for name in names],
    )
