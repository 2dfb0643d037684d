"""Many small pictures as one: quicker to send and to show than each by itself."""

import numpy as np

from vit.charts import colours

GAP = {False: 205, True: 58}  # grey between tiles, by theme


def mosaic(tiles: np.ndarray, columns: int, gap: int = 1, fill: int = 110) -> np.ndarray:
    """(n, a, b, 3) to one picture, `columns` tiles wide, with a gap around each."""
    rows = -(-len(tiles) // columns)
    missing = rows * columns - len(tiles)
    tiles = np.pad(tiles, ((0, missing), (gap, gap), (gap, gap), (0, 0)), constant_values=fill)
    a, b = tiles.shape[1:3]
    return tiles.reshape(rows, columns, a, b, 3).swapaxes(1, 2).reshape(rows * a, columns * b, 3)


def outline(pixels: np.ndarray, top: int, left: int, bottom: int, right: int, thickness: int = 4) -> None:
    """A frame in the colour of what is chosen, drawn inside the given corners."""
    colour = colours.rgb(colours.ACCENT)
    for rows in (slice(top, top + thickness), slice(bottom - thickness, bottom)):
        pixels[rows, left:right] = colour
    for columns in (slice(left, left + thickness), slice(right - thickness, right)):
        pixels[top:bottom, columns] = colour
