"""Pictures of who looks at whom."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from vit.charts import colours
from vit.charts.mosaic import mosaic
from vit.charts.patches import token_word
from vit.charts.picture import Legend, PixelPicture, PlotlyPicture
from vit.explain import AllHeads, attention_maps
from vit.numbers import number, plain, with_sign
from vit.trace import ForwardTrace

LOSSES = colours.signed(dark=True)  # on a digit, which lies on near-black in both themes
WHO_AT_WHOM = "who looks ↓  at whom →"
WORDS_FIT = 8  # numbers beside each other that can be written out
STRIP = 3  # pixels: height of a strip, at least
MANY = 18  # numbers beside each other, above which a row is made higher than they are wide
MOST_CELLS = 10_000  # whose numbers are sent to be pointed at
PHOTO = 0.45  # how much of a photo shines through the colours that lie on it
FINE, AROUND = 5, 20  # pixels of an outline's picture for each of the image's, and the grey around the white line
SPREAD = 0.5  # of the way to the next layer, over which its heads stand side by side: each can be pointed at


# Every head of every layer


def every_head(trace: ForwardTrace, token: int, layer: int, head: int, shared: bool) -> PixelPicture:
    """Where the token looks in all L x h heads, each map on its own scale or all on one."""
    looks = attention_maps(trace, token)
    on_cls = np.stack([block.pattern[:, token, 0] for block in trace.blocks]).ravel().tolist()
    flat = looks.reshape(len(on_cls), -1)
    hardest, most = flat.argmax(-1).tolist(), flat.max(-1).tolist()
    legend = (Legend(colours.WARM, 0, float(looks.max()), "one scale for all") if shared
              else Legend(colours.WARM, 0, "max", "each map on its own scale"))
    return replace(
        _heads(looks, shared), alt=f"where {token_word(token)} looks, in every head of every layer", width=860,
        chosen=[layer * looks.shape[1] + head], corner="layer ↓  head →", legend=legend,
        labels=[f"layer {i // looks.shape[1] + 1}, head {i % looks.shape[1] + 1}\n{on_cls[i]:.0%} on CLS\n"
                f"hardest at patch {hardest[i] + 1}: {most[i]:.0%}" for i in range(len(flat))],
    )


def heads_to_switch(
    trace: ForwardTrace, off: Collection[tuple[int, int]], blocks_off: Collection[int]
) -> PixelPicture:
    """Where CLS looks in all L x h heads, those that are off in grey."""
    def what_a_click_does(layer: int, head: int) -> str:
        if layer in blocks_off:
            return "off with its whole block: switch that on above"
        return "off: click to switch on" if (layer, head) in off else "on: click to switch off"

    looks = attention_maps(trace, token=0)
    return replace(
        _heads(looks, off=off), alt="where CLS looks; click a head to switch it off", width=620,
        corner="layer ↓ head →",
        labels=[f"layer {layer + 1}, head {head + 1} · {what_a_click_does(layer, head)}"
                for layer, head in np.ndindex(looks.shape[:2])],
        legend=Legend(colours.WARM, 0, "max", "each map on its own scale; grey: off"),
    )


def heads_that_matter(
    answers: np.ndarray, before: np.ndarray, chosen: Sequence[int], worst: int, names: Sequence[str], dark: bool
) -> PixelPicture:
    """What the answer loses without each single head: (L, h, classes) against (classes,). The worst has a frame."""
    winner = int(before.argmax())
    left = answers[..., winner]
    lost = before[winner] - left
    limit = colours.limit_of(lost)
    return PixelPicture(
        colours.paint(lost, colours.signed(dark), -limit, limit), *lost.shape, lines=True, width=620,
        alt=f"what the {names[winner]} loses without each single head", corner="layer ↓ head →",
        chosen=chosen, dashed=[worst],
        labels=[f"layer {l + 1}, head {h + 1}: without it {names[winner]} has {left[l, h]:.1%}\n"
                f"({with_sign(-100 * lost[l, h])} points)" for l, h in np.ndindex(lost.shape)],
        row_names=[str(layer + 1) for layer in range(len(lost))],
        column_names=[str(head + 1) for head in range(lost.shape[1])],
        legend=Legend(colours.signed(dark), -limit, limit, "probability lost (red), won (blue)"),
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
        image, colours.paint(lost, LOSSES, -limit, limit), [f"{with_sign(100 * value)} points" for value in -lost],
        "what the answer loses without each patch", 330,
        Legend(LOSSES, -limit, limit, "probability lost (red), won (blue)"),
    )


def _on_patches(
    image: np.ndarray, tints: np.ndarray, told: Sequence[str], alt: str, width: int, legend: Legend,
    chosen: Sequence[int] = (), dashed: Sequence[int] = (),
) -> PixelPicture:
    """The picture with a colour (N, 3) and a word for each patch."""
    grid = round(len(tints) ** 0.5)
    is_photo = image.ndim == 3 and bool((image != image[..., :1]).any())
    return PixelPicture(
        on_photo(image, tints) if is_photo else on_ink(image, tints), grid, grid, alt=alt, width=width, lines=True,
        legend=legend, chosen=chosen,
        dashed=dashed, labels=[f"patch {i}: {words}" for i, words in enumerate(told, start=1)],
    )


def on_ink(image: np.ndarray, tints: np.ndarray) -> np.ndarray:
    """A colour for each patch (N, 3), the same all over the patch, with the ink as an outline."""
    grey = (image if image.ndim == 2 else image.mean(-1)).astype(np.uint8)
    grid = round(len(tints) ** 0.5)
    side = len(grey) * FINE
    pixels = tints.reshape(grid, grid, 3).repeat(side // grid, axis=0).repeat(side // grid, axis=1)
    large = np.asarray(Image.fromarray(grey).resize((side, side), Image.Resampling.BILINEAR))
    inked = np.pad(large > max(int(grey.max()) // 2, 1), 1)
    neighbours = inked[:-2, 1:-1], inked[2:, 1:-1], inked[1:-1, :-2], inked[1:-1, 2:]
    inked, inner, wider = inked[1:-1, 1:-1], np.logical_and.reduce(neighbours), np.logical_or.reduce(neighbours)
    pixels[wider & ~inked] = AROUND
    pixels[inked & ~inner] = 255
    return pixels


def on_photo(image: np.ndarray, tints: np.ndarray) -> np.ndarray:
    """A colour for each patch (N, 3), with the photo in grey shining through."""
    grid = round(len(tints) ** 0.5)
    P = len(image) // grid
    colour = tints.reshape(grid, grid, 3).repeat(P, axis=0).repeat(P, axis=1)
    mixed = (1 - PHOTO) * colour + PHOTO * image.mean(-1, keepdims=True)
    fine = max(FINE * P // 16, 1)
    return mixed.astype(np.uint8).repeat(fine, 0).repeat(fine, 1)


def pattern(looks: np.ndarray, *, alt: str, width: int = 420) -> PixelPicture:
    """All weights of a head: a row is who looks, a column at whom."""
    highest = float(looks.max())
    return PixelPicture(
        colours.paint(looks, colours.WARM, 0, highest), *looks.shape, alt=alt, width=width, corner=WHO_AT_WHOM,
        row_names=ticks(len(looks)), column_names=ticks(len(looks)),
        legend=Legend(colours.WARM, 0, highest, "attention"),
    )


def ticks(tokens: int) -> list[str]:
    """A name for CLS and for the last patch of each row of patches: all would not fit."""
    grid = round((tokens - 1) ** 0.5)
    return ["CLS", *(str(token) if token % grid == 0 else "" for token in range(1, tokens))]


def whole_pattern(looks: np.ndarray, query: int, key: int) -> PixelPicture:
    """The same, to be read cell by cell, with the chosen pair."""
    T = len(looks)
    return replace(
        pattern(looks, alt="the whole attention pattern", width=640), chosen=[query * T + key],
        labels=[f"{token_word(i // T)} → {token_word(i % T)}: {value:.1%}" for i, value in enumerate(looks.ravel())]
        if looks.size <= MOST_CELLS else [],
    )


# One pair


def products(q: np.ndarray, k: np.ndarray, dark: bool) -> PixelPicture:
    """A query, a key, and what they give component by component, on one scale."""
    vectors = np.stack([q, k, q * k])  # (3, d_k)
    limit, fits = colours.limit_of(vectors), len(q) <= WORDS_FIT
    tall = max(len(q) // MANY, 1)  # or rows of many numbers would be too low
    return PixelPicture(
        colours.paint(vectors, colours.signed(dark), -limit, limit).repeat(tall, 0), *vectors.shape,
        width=560, lines=True,
        alt="query, key and their products", row_names=["q", "k", "q·k"], labels=list(map(number, vectors.ravel())),
        words=dict(enumerate(map(plain, vectors.ravel()))) if fits else {},
        legend=Legend(colours.signed(dark), -limit, limit, "one scale for all"),
    )


def score_strip(scores: np.ndarray, chosen: int, dark: bool) -> PixelPicture:
    limit = colours.limit_of(scores[np.isfinite(scores)])  # a mask leaves −∞
    return _strip(scores, chosen, Legend(colours.signed(dark), -limit, limit, "scores of all tokens"))


def weight_strip(row: np.ndarray, chosen: int) -> PixelPicture:
    told = f"after softmax: they sum to {row.sum():.4f}"
    return _strip(row, chosen, Legend(colours.WARM, 0, float(row.max()), told))


def _strip(values: np.ndarray, chosen: int, legend: Legend) -> PixelPicture:
    """A number for each token, side by side; both ends of the legend are numbers."""
    pixels = colours.paint(values[None], legend.colours, float(legend.low), float(legend.high))
    return PixelPicture(
        pixels.repeat(max(STRIP, len(values) // MANY), axis=0), 1, len(values), alt=legend.caption,
        width=640, chosen=[chosen], legend=legend,
        labels=[f"{token_word(token)}: {number(value) if np.isfinite(value) else 'hidden'}"
                for token, value in enumerate(values)],
    )
