"""Pictures of a model with parts taken away."""

from collections.abc import Collection, Sequence

import numpy as np

from vit.charts import attention, colours, patches
from vit.charts.embedding import mosaic
from vit.trace import ForwardTrace

GONE = (74, 80, 92)  # what was taken away


def digit(image: np.ndarray, patch_size: int, order: Sequence[int], hidden: Collection[int]) -> np.ndarray:
    """The image as the model gets it: its patches in this order, and grey places that nobody can look at."""
    grid = len(image) // patch_size
    tiles = patches.cut(patches.picture(image), patch_size)[list(order)]
    tiles[list(hidden)] = GONE
    rows = tiles.reshape(grid, grid, *tiles.shape[1:]).swapaxes(1, 2)
    return rows.reshape(*image.shape[:2], -1)


def heads(trace: ForwardTrace, off: Collection[tuple[int, int]]) -> np.ndarray:
    """Where CLS looks in every head of every layer; those that are switched off in grey."""
    looks = attention.maps(trace, 0)
    tiles = colours.paint(looks / looks.max((2, 3), keepdims=True).clip(1e-9), colours.WARM, 0, 1)
    for layer, head in off:
        tiles[layer, head] = GONE
    return mosaic(tiles.reshape(-1, *tiles.shape[2:]), looks.shape[1])


def bars(before: np.ndarray, after: np.ndarray) -> str:
    """The probabilities after the change as bars, with a mark where they were before."""
    winner = after.argmax()
    rows = "".join(
        f"<div style='display:flex;align-items:center;gap:.6rem;font-size:1.1rem;line-height:1.75rem"
        f"{';font-weight:700' if label == winner else ''}'><span style='width:1ch'>{label}</span>"
        "<span style='flex:1;position:relative;background:#8a94a633;border-radius:3px;height:1.1rem'>"
        f"<span style='display:block;height:100%;border-radius:3px;width:{now:.2%};"
        f"background:{'#e0701a' if label == winner else '#e0a26a'}'></span>"
        f"<span style='position:absolute;top:-.15rem;height:1.4rem;width:3px;left:calc({was:.2%} - 1px);"
        "background:currentColor'></span></span>"
        f"<span style='width:4.2rem;text-align:right;font-variant-numeric:tabular-nums'>{now:.1%}</span></div>"
        for label, (was, now) in enumerate(zip(before, after, strict=True))
    )
    return f"<div role='img' aria-label='probability of each class, before and after'>{rows}</div>"
