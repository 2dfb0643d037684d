"""Pictures of who looks at whom."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from vit.charts import colours
from vit.charts.mosaic import mosaic
from vit.charts.patches import token_word
from vit.charts.picture import Legend, PixelPicture, PlotlyPicture
from vit.explain import AllHeads, attention_maps
from vit.numbers import number, plain
from vit.trace import ForwardTrace

LOSSES = colours.signed(dark=True)  # on a digit, which lies on near-black in both themes
WHO_AT_WHOM = "who looks ↓  at whom →"
WORDS_FIT = 8  # numbers beside each other that can be written out
STRIP = 3  # pixels: height of a strip
SPREAD = 0.5  # of the way to the next layer, over which its heads stand side by side: each can be pointed at


# Every head of every layer


def every_head(trace: ForwardTrace, token: int, layer: int, head: int, shared: bool) -> PixelPicture:
    """Where the token looks in all L x h heads, each map on its own scale or all on one."""
    looks = attention_maps(trace, token)
    rows = (block.pattern[:, token] for block in trace.blocks)
    legend = (Legend(colours.WARM, 0, float(looks.max()), "one scale for all") if shared
              else Legend(colours.WARM, 0, "max", "each map on its own scale"))
    return replace(
        _heads(looks, shared), alt=f"where {token_word(token)} looks, in every head of every layer", width=860,
        chosen=[layer * looks.shape[1] + head], corner="layer ↓  head →", legend=legend,
        labels=[f"layer {l + 1}, head {h + 1}\n{row[0]:.0%} on CLS, at most {row[1:].max():.0%} on a patch"
                for l, of_layer in enumerate(rows) for h, row in enumerate(of_layer)],
    )


def heads_to_switch(
    trace: ForwardTrace, off: Collection[tuple[int, int]], blocks_off: Collection[int]
) -> PixelPicture:
    """Where CLS looks in all L x h heads, those that are off in grey."""
    def what_a_click_does(layer: int, head: int) -> str:
        if layer in blocks_off:
            return "off, with its whole block"
        return "off" if (layer, head) in off else "click to switch off"

    looks = attention_maps(trace, token=0)
    return replace(
        _heads(looks, off=off), alt="where CLS looks; click a head to switch it off", width=620,
        corner="layer ↓ head →",
        labels=[f"layer {layer + 1}, head {head + 1}: {what_a_click_does(layer, head)}"
                for layer, head in np.ndindex(looks.shape[:2])],
        legend=Legend(colours.WARM, 0, "max", "each map on its own scale; grey: off"),
    )


def _heads(looks: np.ndarray, shared: bool = False, off: Collection[tuple[int, int]] = ()) -> PixelPicture:
    """Maps (L, h, grid, grid) as one picture with a cell for each."""
    depth, count = looks.shape[:2]
    highest = looks.max() if shared else looks.max((2, 3), keepdims=True)
    tiles = colours.paint(looks / highest.clip(1e-9), colours.WARM, 0, 1)
    for layer, head in off:
        tiles[layer, head] = colours.GONE
    return PixelPicture(
        mosaic(tiles.reshape(-1, *tiles.shape[2:]), count), depth, count, alt="every head of every layer",
        row_names=[str(layer + 1) for layer in range(depth)], column_names=[str(head + 1) for head in range(count)],
    )


def distances(heads: AllHeads, layer: int, head: int) -> PlotlyPicture:
    """Every head of every layer: how far it looks (the ViT paper's figure 7, right). A point is a head to choose."""
    depth, count = heads.distance.shape
    places = np.arange(1, depth + 1)[:, None] + SPREAD * ((np.arange(count) + 0.5) / count - 0.5)  # (L, h)
    bits = heads.entropy
    whole = {"marker": {"opacity": 1}}  # no point pales when another is clicked
    points = go.Scatter(
        x=places.ravel(), y=heads.distance.ravel(), mode="markers", selected=whole, unselected=whole,
        marker={"size": 11, "color": bits.ravel(), "colorscale": colours.WARM,
                "colorbar": {"title": "bits", "thickness": 12}, "line": {"width": 1, "color": colours.CALM}},
        # in lists: rows of an array would come back from a click as dictionaries
        customdata=[[l * count + h, l + 1, h + 1, float(bits[l, h])] for l, h in np.ndindex(depth, count)],
        hovertemplate="layer %{customdata[1]}, head %{customdata[2]}<br>%{y:.1f} pixels<br>%{customdata[3]:.2f} "
                      "bits<extra></extra>",
    )
    ring = go.Scatter(
        x=[places[layer, head]], y=[heads.distance[layer, head]], mode="markers", hoverinfo="skip", selected=whole,
        unselected=whole, customdata=[[layer * count + head]],
        marker={"size": 20, "color": "rgba(0,0,0,0)", "line": {"width": 4, "color": colours.ACCENT}},
    )
    layout = colours.layout(
        380, xaxis={"title": {"text": "layer"}, "dtick": 1, "range": [0.5, depth + 0.5]},
        yaxis={"title": {"text": "mean distance looked, in pixels"}, "rangemode": "tozero"},
    )
    return PlotlyPicture(go.Figure([points, ring], layout), alt="mean attention distance of each head by layer")


# One head


def over_digit(
    image: np.ndarray, row: np.ndarray, *, alt: str, caption: str, width: int = 330, chosen: Sequence[int] = (),
    dashed: Sequence[int] = (),
) -> PixelPicture:
    """Attention (T,) as light on the digit: ink stays visible, what is looked at glows."""
    looked = row[1:]
    tints = colours.paint(looked / max(looked.max(), 1e-9), colours.WARM, 0, 1)
    return _on_patches(
        image, tints, [f"{share:.1%}" for share in looked], alt, width,
        Legend(colours.WARM, 0, float(looked.max()), caption), chosen, dashed,
    )


def losses(image: np.ndarray, lost: np.ndarray) -> PixelPicture:
    """What the answer loses without each patch (N,), over the digit."""
    limit = colours.limit_of(lost)
    return _on_patches(
        image, colours.paint(lost, LOSSES, -limit, limit), [f"{100 * value:+.2f} points" for value in -lost],
        "what the answer loses without each patch", 330,
        Legend(LOSSES, -limit, limit, "probability lost (red), won (blue)"),
    )


def _on_patches(
    image: np.ndarray, tints: np.ndarray, told: Sequence[str], alt: str, width: int, legend: Legend,
    chosen: Sequence[int] = (), dashed: Sequence[int] = (),
) -> PixelPicture:
    """The digit with a colour (N, 3) and a word for each patch."""
    grid = round(len(tints) ** 0.5)
    return PixelPicture(
        on_ink(image, tints), grid, grid, alt=alt, width=width, lines=True, legend=legend, chosen=chosen,
        dashed=dashed, labels=[f"patch {i}: {words}" for i, words in enumerate(told, start=1)],
    )


def on_ink(image: np.ndarray, tints: np.ndarray) -> np.ndarray:
    """The image with a colour for each patch: (N, 3)."""
    grey = image if image.ndim == 2 else image.mean(-1)
    grid = round(len(tints) ** 0.5)
    side = len(grey) // grid
    glow = tints.reshape(grid, grid, 3).repeat(side, axis=0).repeat(side, axis=1).astype(float)
    ink = grey[..., None] / 255
    mixed = glow * (1 - 0.45 * ink) + 255 * 0.45 * ink
    return mixed.clip(0, 255).astype(np.uint8)


def pattern(looks: np.ndarray, *, alt: str, width: int = 420) -> PixelPicture:
    """All weights of a head: a row is who looks, a column at whom."""
    highest = float(looks.max())
    return PixelPicture(
        colours.paint(looks, colours.WARM, 0, highest), *looks.shape, alt=alt, width=width, corner=WHO_AT_WHOM,
        legend=Legend(colours.WARM, 0, highest, "attention"),
    )


def whole_pattern(looks: np.ndarray, query: int, key: int) -> PixelPicture:
    """The same, to be read cell by cell, with the chosen pair."""
    T = len(looks)
    return replace(
        pattern(looks, alt="the whole attention pattern", width=640), chosen=[query * T + key],
        labels=[f"{token_word(i // T)} → {token_word(i % T)}: {value:.1%}" for i, value in enumerate(looks.ravel())],
    )


# One pair


def products(q: np.ndarray, k: np.ndarray, dark: bool) -> PixelPicture:
    """A query, a key, and what they give component by component, on one scale."""
    vectors = np.stack([q, k, q * k])  # (3, d_k)
    limit, fits = colours.limit_of(vectors), len(q) <= WORDS_FIT
    return PixelPicture(
        colours.paint(vectors, colours.signed(dark), -limit, limit), *vectors.shape, width=560, lines=True,
        alt="query, key and their products", row_names=["q", "k", "q·k"], labels=list(map(number, vectors.ravel())),
        words=dict(enumerate(map(plain, vectors.ravel()))) if fits else {},
        legend=Legend(colours.signed(dark), -limit, limit, "one scale for all"),
    )


def score_strip(scores: np.ndarray, chosen: int, dark: bool) -> PixelPicture:
    limit = colours.limit_of(scores)
    return _strip(scores, chosen, Legend(colours.signed(dark), -limit, limit, "scores of all tokens"))


def weight_strip(row: np.ndarray, chosen: int) -> PixelPicture:
    told = f"after softmax: they sum to {row.sum():.4f}"
    return _strip(row, chosen, Legend(colours.WARM, 0, float(row.max()), told))


def _strip(values: np.ndarray, chosen: int, legend: Legend) -> PixelPicture:
    """A number for each token, side by side; both ends of the legend are numbers."""
    pixels = colours.paint(values[None], legend.colours, float(legend.low), float(legend.high))
    return PixelPicture(
        pixels.repeat(STRIP, axis=0), 1, len(values), alt=legend.caption, width=640, chosen=[chosen], legend=legend,
        labels=[f"{token_word(token)}: {number(value)}" for token, value in enumerate(values)],
    )
