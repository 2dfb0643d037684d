"""Pictures and bars of the draw page."""

import numpy as np

from vit.charts import colours
from vit.charts.mosaic import mosaic


def sheet(images: np.ndarray, columns: int) -> np.ndarray:
    """Digits in rows, with a little air between them."""
    return mosaic(colours.paint(images, colours.INK, 0, 255), columns, fill=0)


def bars(probabilities: np.ndarray, before: np.ndarray | None = None) -> str:
    """Probabilities as HTML, as quick to show as text; with a mark at each where it was before."""
    winner = probabilities.argmax()
    rows = "".join(
        f"<div style='display:flex;align-items:center;gap:.6rem;font-size:1.15rem;line-height:1.75rem"
        f"{';font-weight:700' if digit == winner else ''}'>"
        f"<span style='width:1ch'>{digit}</span>"
        f"<span style='flex:1;position:relative;background:#8a94a633;border-radius:3px;height:1.1rem'>"
        f"<span style='display:block;height:100%;border-radius:3px;width:{probability:.2%};"
        f"background:{'#e0701a' if digit == winner else '#e0a26a'}'></span>"
        f"{'' if before is None else mark(before[digit])}</span>"
        f"<span style='width:4.2rem;text-align:right;font-variant-numeric:tabular-nums'>{probability:.1%}</span></div>"
        for digit, probability in enumerate(probabilities)
    )
    return f"<div role='img' aria-label='probability of each digit'>{rows}</div>"


def mark(probability: float) -> str:
    return (f"<span style='position:absolute;top:-.15rem;height:1.4rem;width:3px;left:calc({probability:.2%} - 1px);"
            "background:currentColor'></span>")
