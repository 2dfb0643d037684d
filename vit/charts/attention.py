"""Pictures of who looks at whom."""

from collections.abc import Collection

import numpy as np
import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.mosaic import mosaic
from vit.explain import AllHeads, softmax
from vit.trace import BlockTrace, ForwardTrace

LOSSES = colours.signed(dark=True)  # on a digit, which lies on near-black in both themes


def maps(trace: ForwardTrace, token: int) -> np.ndarray:
    """Where the token looks, in every head of every layer: (L, h, grid, grid), CLS left out."""
    rows = np.stack([block.pattern[:, token, 1:] for block in trace.blocks])
    grid = round(rows.shape[-1] ** 0.5)
    return rows.reshape(*rows.shape[:2], grid, grid)


def head_mosaic(
    trace: ForwardTrace, token: int, shared: bool = False, off: Collection[tuple[int, int]] = ()
) -> np.ndarray:
    """All L x h maps in one picture, each on its own scale or all on one; heads that are off in grey."""
    looks = maps(trace, token)
    highest = looks.max() if shared else looks.max((2, 3), keepdims=True)
    tiles = colours.paint(looks / highest.clip(1e-9), colours.WARM, 0, 1)
    for layer, head in off:
        tiles[layer, head] = colours.GONE
    return mosaic(tiles.reshape(-1, *tiles.shape[2:]), looks.shape[1])


def head_labels(trace: ForwardTrace, token: int) -> list[str]:
    return [
        f"layer {layer + 1}, head {head + 1}\n{row[0]:.0%} on CLS, at most {row[1:].max():.0%} on a patch"
        for layer, block in enumerate(trace.blocks)
        for head, row in enumerate(block.pattern[:, token])
    ]


def over_digit(image: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Attention as light on the digit: ink stays visible, what is looked at glows."""
    return on_ink(image, colours.paint(row[1:] / max(row[1:].max(), 1e-9), colours.WARM, 0, 1))


def losses(image: np.ndarray, lost: np.ndarray, limit: float) -> np.ndarray:
    """What the answer loses without each patch, over the digit."""
    return on_ink(image, colours.paint(lost, LOSSES, -limit, limit))


def on_ink(image: np.ndarray, tints: np.ndarray) -> np.ndarray:
    """The image with a colour for each patch: (N, 3)."""
    grey = image if image.ndim == 2 else image.mean(-1)
    grid = round(len(tints) ** 0.5)
    side = len(grey) // grid
    glow = tints.reshape(grid, grid, 3).repeat(side, axis=0).repeat(side, axis=1).astype(float)
    ink = grey[..., None] / 255
    mixed = glow * (1 - 0.45 * ink) + 255 * 0.45 * ink
    return mixed.clip(0, 255).astype(np.uint8)


def pattern(block: BlockTrace, head: int) -> np.ndarray:
    looks = block.pattern[head]
    return colours.paint(looks, colours.WARM, 0, looks.max())


def causal(block: BlockTrace, head: int) -> np.ndarray:
    """The pattern that these scores would give under GPT's mask."""
    scores = np.where(np.tri(block.scores.shape[-1], dtype=bool), block.scores[head], -np.inf)
    return softmax(scores)


def distance_chart(heads: AllHeads, layer: int, head: int) -> go.Figure:
    """Every head of every layer: how far it looks (the ViT paper's figure 7, right)."""
    depth, count = heads.distance.shape
    layers, numbers = np.mgrid[1 : depth + 1, 1 : count + 1]
    figure = go.Figure(go.Scatter(
        x=layers.ravel(), y=heads.distance.ravel(), mode="markers",
        marker={"size": 11, "color": heads.entropy.ravel(), "colorscale": colours.WARM,
                "colorbar": {"title": "bits", "thickness": 12}, "line": {"width": 1, "color": colours.CALM}},
        customdata=np.stack([numbers.ravel(), heads.entropy.ravel()], 1),
        hovertemplate="layer %{x}, head %{customdata[0]}<br>%{y:.1f} pixels<br>%{customdata[1]:.2f} "
                      "bits<extra></extra>",
    ))
    figure.add_scatter(
        x=[layer + 1], y=[heads.distance[layer, head]], mode="markers", hoverinfo="skip",
        marker={"size": 20, "color": "rgba(0,0,0,0)", "line": {"width": 4, "color": colours.ACCENT}},
    )
    figure.update_xaxes(title="layer", dtick=1, range=[0.5, depth + 0.5])
    figure.update_yaxes(title="mean distance looked, in pixels", rangemode="tozero")
    return colours.styled(figure, 380)
