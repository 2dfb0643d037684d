"""Pictures of the residual stream: what each block adds, and what becomes of a token on its way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from vit.charts import colours, patches, vectors
from vit.charts.mosaic import outline
from vit.charts.picture import Legend, PixelPicture, PlotlyPicture, TemplatePicture
from vit.explain import Added, ClsPath, LayerNormNumbers, lengths
from vit.numbers import number, plain, share
from vit.trace import BlockTrace

ATTENTION, MLP = colours.ATTENTION, colours.MLP
NIGHT, DUSK = (11, 13, 18), (36, 42, 54)  # behind the pictures, as behind digits; behind the chosen block

BLOCK_WIDTH, BAND = 96, 84  # pixels: a block's column in the river, and a third of the river's height
CELL, MAP_GAP = 12, 1  # pixels per cell of a map; cells between maps
UNITS_PER_LINE, FEW_UNITS = 32, 1024  # of more, twice as many
NAMES_FIT = 13  # below the bars of a chart that is as narrow as a phone


def river(blocks: Sequence[BlockTrace], sizes: Added, token: int, layer: int) -> PixelPicture:
    """One token's way through the blocks, as lengths of vectors.

    Top row: what attention adds. Middle: the token. Bottom: what the MLP adds. One column per block.
    """
    count = len(blocks)
    before, middle, after, attention, mlp = (
        lengths([getattr(block, name)[token] for block in blocks])
        for name in ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out")
    )
    width, height = count * BLOCK_WIDTH, 3 * BAND
    pixels = np.full((height, width, 3), NIGHT, np.uint8)
    pixels[:, layer * BLOCK_WIDTH : (layer + 1) * BLOCK_WIDTH] = DUSK

    # River and bars have each their own scale: late in the stream the token is far longer than what is added.
    tallest = (BAND - 8) / (max(attention.max(), mlp.max()) or 1)
    for block in range(count):
        left, right = int((block + 0.25) * BLOCK_WIDTH), int((block + 0.75) * BLOCK_WIDTH)
        stem = slice((left + right) // 2 - 2, (left + right) // 2 + 2)
        top, bottom = round(tallest * attention[block]), round(tallest * mlp[block])
        pixels[BAND - top : BAND, left:right] = colours.rgb(ATTENTION)
        pixels[2 * BAND : 2 * BAND + bottom, left:right] = colours.rgb(MLP)
        if top:
            pixels[BAND : height // 2, stem] = colours.rgb(ATTENTION)
        if bottom:
            pixels[height // 2 : 2 * BAND, stem] = colours.rgb(MLP)

    stations = [*np.column_stack([before, middle]).ravel(), after[-1]]
    widths = np.interp(np.arange(width), np.arange(len(stations)) * BLOCK_WIDTH / 2, stations)
    half = np.maximum((BAND - 8) / (max(stations) or 1) * widths, 2) / 2
    pixels[BAND : 2 * BAND][np.abs(np.arange(BAND)[:, None] + 0.5 - BAND / 2) <= half] = colours.rgb(colours.ACCENT)
    outline(pixels, 0, layer * BLOCK_WIDTH, height, (layer + 1) * BLOCK_WIDTH)

    shares = sizes.attention[:, token], sizes.mlp[:, token]
    labels = [
        f"block {block + 1}\nlength before {before[block]:.2f}\n"
        f"attention adds {attention[block]:.2f} ({shares[0][block]:.0%})\n"
        f"MLP adds {mlp[block]:.2f} ({shares[1][block]:.0%})\nlength after {after[block]:.2f}"
        for block in range(count)
    ]
    numbers = map(str, range(1, count + 1))
    words = [*map(share, shares[0]), *numbers, *map(share, shares[1])]
    return PixelPicture(
        pixels, 3, count, alt=f"the length of {patches.token_word(token)} and of what every block adds to it",
        width=1400, labels=labels * 3, words=dict(enumerate(words)),
    )


def river_legend(token: int) -> TemplatePicture:
    """What the colours of the river mean."""
    meaning = {"attention": "attention adds", "accent": f"{patches.token_word(token)}, block by block",
               "mlp": "the MLP adds"}
    return TemplatePicture("legend", {
        "items": [{"colour": colour, "words": words} for colour, words in meaning.items()],
        "note": "bars: how long the added vector is, all on one scale; numbers: in % of the token's length before",
    }, alt="what the colours of the river mean")


def of_its_length(part: float) -> str:
    return f"{part:.0%} of its length" if part < 9.995 else f"{part:.0f} times its length"


@dataclass(frozen=True, eq=False)
class TokenMaps:
    """Rows of small maps of all tokens: CLS as a strip above its grid of patches. Knows what a cell shows."""

    picture: PixelPicture
    grid: int

    def at(self, cell: int) -> tuple[int, int, int] | None:
        """(row of maps, number in the row, token), or nothing in the gaps."""
        return token_at(*divmod(cell, self.picture.columns), self.grid)


def token_at(row: int, column: int, grid: int) -> tuple[int, int, int] | None:
    map_row, down = divmod(row, grid + 2 + MAP_GAP)
    number, right = divmod(column, grid + MAP_GAP)
    if right >= grid or down == 1 or down > grid + 1:
        return None
    return map_row, number, 0 if down == 0 else (down - 2) * grid + right + 1


def token_maps(
    painted: np.ndarray, token: int, chosen: int, describe: Callable[[int, int, int], str], legend: Legend, alt: str,
    names: Sequence[str], row_names: Sequence[str] = (),
) -> TokenMaps:
    """Colours (rows, maps, T, 3) as maps side by side; the chosen token and the chosen map are framed.

    `describe(row, map, token)` says on hover what a cell is; `names` stand above the maps, `row_names` before them.
    """
    rows, count, tokens, _ = painted.shape
    grid = round((tokens - 1) ** 0.5)
    tall, wide = grid + 2 + MAP_GAP, grid + MAP_GAP  # CLS, air, the patches; and the gap
    cells = np.full((rows, tall, count, wide, 3), NIGHT, np.uint8)
    cells[:, 0, :, :grid] = painted[:, :, :1]
    cells[:, 2 : grid + 2, :, :grid] = painted[:, :, 1:].reshape(rows, count, grid, grid, 3).swapaxes(1, 2)
    cells = cells.reshape(rows * tall, count * wide, 3)[:-MAP_GAP, :-MAP_GAP]
    pixels = cells.repeat(CELL, 0).repeat(CELL, 1)

    down, right = (0, 0) if token == 0 else np.add(divmod(token - 1, grid), (2, 0))
    for top in range(0, len(cells), tall):
        for place in range(count):
            left = place * wide
            if place == chosen:
                outline(pixels, top * CELL, left * CELL, (top + grid + 2) * CELL, (left + grid) * CELL)
            y, x = (top + down) * CELL, (left + right) * CELL
            outline(pixels, y, x, y + CELL, x + CELL * (1 if token else grid), thickness=2)

    found = [token_at(row, column, grid) for row in range(len(cells)) for column in range(cells.shape[1])]
    labels = [describe(*where) if where else "" for where in found]
    picture = PixelPicture(
        pixels, *cells.shape[:2], alt=alt, width=1400, labels=labels, legend=legend, corner="block →",
        column_names=in_the_middle(names, wide, cells.shape[1], grid),
        row_names=in_the_middle(row_names, tall, len(cells), grid + 2) if row_names else (),
    )
    return TokenMaps(picture, grid)


def in_the_middle(names: Sequence[str], every: int, cells: int, size: int) -> list[str]:
    """A name at the middle cell of each map, and none elsewhere."""
    placed = [""] * cells
    for place, name in enumerate(names):
        placed[place * every + size // 2] = name
    return placed


def added_maps(sizes: Added, token: int, layer: int) -> TokenMaps:
    """What attention (top) and MLP (bottom) add to every token in every block; each map on its own scale."""
    shares = np.stack([sizes.attention, sizes.mlp])
    added = shares * sizes.before
    most = added.max(-1, keepdims=True)

    def describe(part: int, number: int, where: int) -> str:
        return (f"block {number + 1}, {patches.token_word(where)}\n{('attention', 'MLP')[part]} adds "
                f"{added[part, number, where]:.2f}\n= {shares[part, number, where]:.0%} of its length before")

    painted = colours.paint(added / np.where(most > 0, most, 1), colours.WARM, 0, 1)
    return token_maps(
        painted, token, layer, describe, Legend(colours.WARM, "0", "most", "length added, each map on its own scale"),
        alt="what each block adds to each token", names=[str(block + 1) for block in range(len(sizes.mlp))],
        row_names=["MSA", "MLP"],
    )


def similarity_maps(similarity: np.ndarray, token: int, layer: int, dark: bool) -> TokenMaps:
    """How alike the chosen token is to every other, after the embedding and after each block."""
    values = similarity[None, :, token]

    def describe(_: int, number: int, where: int) -> str:
        depth = f"after block {number}" if number else "after the embedding"
        cosine = plain(values[0, number, where])
        return f"{depth}\n{patches.token_word(token)} and {patches.token_word(where)}: {cosine}"

    return token_maps(
        colours.paint(values, colours.signed(dark), -1, 1), token, layer + 1, describe,
        Legend(colours.signed(dark), -1, 1, "cosine, one scale for all"),
        alt=f"cosine of {patches.token_word(token)} with every token at every depth",
        names=["z₀", *(str(block) for block in range(1, len(similarity)))],
    )


def addition(values: np.ndarray, layer: int, component: int, dark: bool, adds: bool = True) -> PixelPicture:
    """A block's sum (5, D) as five bar codes on one scale, with one of the D numbers framed in all of them.

    Without signs where the model does not add.
    """
    names = addition_names(layer)
    D, limit = values.shape[1], colours.limit_of(values)
    return PixelPicture(
        *vectors.folded(colours.paint(values, colours.signed(dark), -limit, limit), 10, dark),
        alt=f"block {layer + 1} as a sum of bar codes", width=900, chosen=range(component, values.size, D),
        labels=[f"number {i % D + 1}: {number(value)}" for i, value in enumerate(values.ravel())],
        row_names=vectors.at_first_lines(names if adds else [name.strip("+= ") for name in names], D),
        legend=Legend(colours.signed(dark), -limit, limit, "one scale for all five"),
    )


def addition_names(layer: int) -> list[str]:
    small = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    before, after = str(layer).translate(small), str(layer + 1).translate(small)
    return [f"z{before}", "+ MSA", f"= z′{after}", "+ MLP", f"= z{after}"]


def mlp_mosaic(hidden: np.ndarray, unit: int, dark: bool) -> PixelPicture:
    """All hidden units of an MLP as cells in reading order, on a scale that is centred at 0."""
    columns = min(len(hidden), UNITS_PER_LINE * (1 if len(hidden) <= FEW_UNITS else 2))
    rows = -(-len(hidden) // columns)
    empty = rows * columns - len(hidden)
    limit = colours.limit_of(hidden)
    cells = colours.paint(np.pad(hidden, (0, empty)).reshape(rows, columns), colours.signed(dark), -limit, limit)
    labels = [f"unit {number}: {plain(value, 3)}" for number, value in enumerate(hidden, start=1)]
    return PixelPicture(
        cells, rows, columns, alt="the MLP's hidden units", width=900, chosen=[unit], lines=True,
        labels=labels + ["no unit"] * empty,
        legend=Legend(colours.signed(dark), -limit, limit, "after GELU, this token"),
    )


def path(cls: ClsPath, dark: bool) -> PlotlyPicture:
    """The way of CLS: at every depth, how alike it is to its last state, and below that how long."""
    depths = ["z₀", *map(str, range(1, len(cls.length)))]
    step = -(-len(depths) // NAMES_FIT)
    named = range(len(depths) - 1, -1, -step)  # from the last backwards
    bars = go.Bar(
        x=depths, y=cls.to_final, text=list(map(plain, cls.to_final)), textposition="outside", textangle=0,
        cliponaxis=False, marker={"color": colours.ACCENT, "cornerradius": 3}, customdata=cls.length,
        hovertemplate="%{x}: cosine %{text}, length %{customdata:.1f}<extra></extra>",
    )
    look = colours.layout(
        220, font={"size": 15, "color": colours.TEXT[dark]}, margin={"l": 0, "r": 0, "t": 8, "b": 8},
        xaxis={"type": "category", "tickangle": 0, "tickfont": {"size": 13, "color": colours.TEXT[dark]},
               "tickvals": [depths[i] for i in named],
               "ticktext": [f"{depths[i]}<br>{cls.length[i]:.1f}" for i in named]},
        yaxis={"range": [min(1.15 * float(cls.to_final.min()), 0), 1.15], "showticklabels": False, "showgrid": False,
               "zeroline": True, "zerolinecolor": colours.CALM},
    )
    return PlotlyPicture(go.Figure(bars, look), alt="cosine of CLS with its last state, and its length, at every depth")


def norm_table(x: np.ndarray, numbers: LayerNormNumbers, component: int) -> TemplatePicture:
    """A vector on its way through LayerNorm, in its mean, deviation and range, and in one of its numbers."""
    steps = {"x": x, "(x − μ) / σ": numbers.normalised, "· γ + β": numbers.out}
    return TemplatePicture("norm_table", {
        "names": ["", "mean", "deviation", "smallest", "largest", f"number {component + 1}"],
        "rows": [[step, *map(plain, (v.mean(), v.std(), v.min(), v.max(), v[component]))] for step, v in steps.items()],
    }, alt="a vector before, within and after LayerNorm")
