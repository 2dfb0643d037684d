"""Pictures of the residual stream: what each block adds, and what becomes of a token on its way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vit.charts import colours, patches
from vit.charts.numbers import plain, share
from vit.explain import Added, ClsPath, LayerNormNumbers
from vit.trace import BlockTrace

ATTENTION, MLP = colours.ATTENTION, colours.MLP
NIGHT, DUSK = (11, 13, 18), (36, 42, 54)  # behind the pictures, as behind digits; behind the chosen block

BLOCK_WIDTH, BAND = 96, 84  # pixels: a block's column in the river, and a third of the river's height
CELL, MAP_GAP = 12, 1  # pixels per cell of a map; cells between maps


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, and the grid of cells that can be read and clicked."""

    pixels: np.ndarray
    rows: int
    columns: int
    labels: list[str]
    words: dict[int, str]


def river(blocks: Sequence[BlockTrace], sizes: Added, token: int, layer: int) -> Picture:
    """One token's way through the blocks, as lengths of vectors.

    Top row: what attention adds. Middle: the token. Bottom: what the MLP adds. One column per block.
    """
    count = len(blocks)
    before, middle, after, attention, mlp = (
        np.linalg.norm([getattr(block, name)[token] for block in blocks], axis=-1)
        for name in ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out")
    )
    width, height = count * BLOCK_WIDTH, 3 * BAND
    pixels = np.full((height, width, 3), NIGHT, np.uint8)
    pixels[:, layer * BLOCK_WIDTH : (layer + 1) * BLOCK_WIDTH] = DUSK

    # River and bars have each their own scale: late in the stream the token is far longer than what is added.
    tallest = (BAND - 8) / (max(attention.max(), mlp.max()) or 1)
    for number in range(count):
        left, right = int((number + 0.25) * BLOCK_WIDTH), int((number + 0.75) * BLOCK_WIDTH)
        stem = slice((left + right) // 2 - 2, (left + right) // 2 + 2)
        top, bottom = round(tallest * attention[number]), round(tallest * mlp[number])
        pixels[BAND - top : BAND, left:right] = colours.rgb(ATTENTION)
        pixels[2 * BAND : 2 * BAND + bottom, left:right] = colours.rgb(MLP)
        if top:
            pixels[BAND : height // 2, stem] = colours.rgb(ATTENTION)
        if bottom:
            pixels[height // 2 : 2 * BAND, stem] = colours.rgb(MLP)

    stations = [*np.column_stack([before, middle]).ravel(), after[-1]]
    lengths = np.interp(np.arange(width), np.arange(len(stations)) * BLOCK_WIDTH / 2, stations)
    half = np.maximum((BAND - 8) / (max(stations) or 1) * lengths, 2) / 2
    pixels[BAND : 2 * BAND][np.abs(np.arange(BAND)[:, None] + 0.5 - BAND / 2) <= half] = colours.rgb(colours.ACCENT)
    outline(pixels, 0, layer * BLOCK_WIDTH, height, (layer + 1) * BLOCK_WIDTH)

    shares = sizes.attention[:, token], sizes.mlp[:, token]
    story = [
        f"block {number + 1}\nlength before {before[number]:.2f}\n"
        f"attention adds {attention[number]:.2f} ({shares[0][number]:.0%})\n"
        f"MLP adds {mlp[number]:.2f} ({shares[1][number]:.0%})\nlength after {after[number]:.2f}"
        for number in range(count)
    ]
    numbers = map(str, range(1, count + 1))
    words = [*map(share, shares[0]), *numbers, *map(share, shares[1])]
    return Picture(pixels, 3, count, story * 3, dict(enumerate(words)))


def of_its_length(part: float) -> str:
    return f"{part:.0%} of its length" if part < 9.995 else f"{part:.0f} times its length"


@dataclass(frozen=True, eq=False)
class TokenMaps:
    """Rows of small maps of all tokens: CLS as a strip above its grid of patches. Knows what a cell shows."""

    picture: Picture
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


def token_maps(painted: np.ndarray, token: int, chosen: int, describe: Callable[..., str]) -> TokenMaps:
    """Colours (rows, maps, T, 3) as maps side by side; the chosen token and the chosen map are framed.

    `describe(row, map, token)` says on hover what a cell is.
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
        for number in range(count):
            left = number * wide
            if number == chosen:
                outline(pixels, top * CELL, left * CELL, (top + grid + 2) * CELL, (left + grid) * CELL)
            end = left + (grid if token == 0 else right + 1)
            corners = top + down, left + right, top + down + 1, end
            outline(pixels, *(corner * CELL for corner in corners), thickness=2)

    found = [token_at(row, column, grid) for row in range(len(cells)) for column in range(cells.shape[1])]
    labels = [describe(*place) if place else "" for place in found]
    return TokenMaps(Picture(pixels, *cells.shape[:2], labels, {}), grid)


def added_maps(sizes: Added, token: int, layer: int) -> TokenMaps:
    """What attention (top) and MLP (bottom) add to every token in every block; each map on its own scale."""
    shares = np.stack([sizes.attention, sizes.mlp])
    added = shares * sizes.before
    most = added.max(-1, keepdims=True)

    def describe(part, number, where):
        return (f"block {number + 1}, {patches.token_word(where)}\n{('attention', 'MLP')[part]} adds "
                f"{added[part, number, where]:.2f}\n= {shares[part, number, where]:.0%} of its length before")

    painted = colours.paint(added / np.where(most > 0, most, 1), colours.WARM, 0, 1)
    return token_maps(painted, token, layer, describe)


def similarity_maps(similarity: np.ndarray, token: int, layer: int, dark: bool) -> TokenMaps:
    """How alike the chosen token is to every other, after the embedding and after each block."""
    values = similarity[None, :, token]

    def describe(_, number, where):
        depth = f"after block {number}" if number else "after the embedding"
        return f"{depth}\n{patches.token_word(token)} and {patches.token_word(where)}: {values[0, number, where]:.2f}"

    return token_maps(colours.paint(values, colours.signed(dark), -1, 1), token, layer + 1, describe)


def outline(pixels: np.ndarray, top: int, left: int, bottom: int, right: int, thickness: int = 4) -> None:
    """A frame in the colour of what is chosen, drawn inside the given corners."""
    colour = colours.rgb(colours.ACCENT)
    for rows in (slice(top, top + thickness), slice(bottom - thickness, bottom)):
        pixels[rows, left:right] = colour
    for columns in (slice(left, left + thickness), slice(right - thickness, right)):
        pixels[top:bottom, columns] = colour


def addition(block: BlockTrace, token: int, dark: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Equations (2) and (3) as five bar codes: pixels, the values (5, D), the end of their shared scale."""
    steps = block.resid_pre, block.attn_out, block.resid_mid, block.mlp_out, block.resid_post
    values = np.stack([step[token] for step in steps])
    limit = colours.limit_of(values)
    pixels = colours.paint(values, colours.signed(dark), -limit, limit)
    return pixels.repeat(10, 0), values, limit


def addition_names(layer: int) -> list[str]:
    small = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    before, after = str(layer).translate(small), str(layer + 1).translate(small)
    return [f"z{before}", "+ MSA", f"= z′{after}", "+ MLP", f"= z{after}"]


def mlp_mosaic(hidden: np.ndarray, dark: bool) -> Picture:
    """All hidden units of an MLP as cells in reading order, on a scale that is centred at 0."""
    columns = min(len(hidden), 32)
    rows = -(-len(hidden) // columns)
    empty = rows * columns - len(hidden)
    limit = colours.limit_of(hidden)
    cells = colours.paint(np.pad(hidden, (0, empty)).reshape(rows, columns), colours.signed(dark), -limit, limit)
    labels = [f"unit {unit + 1}: {value:.3f}" for unit, value in enumerate(hidden)]
    return Picture(cells, rows, columns, labels + ["no unit"] * empty, {})


def path(cls: ClsPath) -> str:
    """The way of CLS as HTML columns: at every depth, how alike it is to its last state, and how long."""
    columns = "".join(
        f"<div style='flex:1;min-width:0;text-align:center'>"
        f"<div style='height:8rem;display:flex;flex-direction:column;justify-content:flex-end'>"
        f"<span style='font-weight:600'>{cosine:.2f}</span>"
        f"<div style='height:{max(cosine, 0) * 75:.1f}%;min-height:2px;background:{colours.ACCENT};"
        f"border-radius:3px 3px 0 0'></div></div>"
        f"<div style='border-top:1px solid currentColor'>{where}</div>"
        f"<div style='opacity:.75'>{length:.1f}</div></div>"
        for where, cosine, length in zip(
            ["z₀", *range(1, len(cls.length))], cls.to_final, cls.length, strict=True
        )
    )
    return (
        "<div role='img' aria-label='cosine of CLS with its last state, and its length, at every depth' "
        "style='display:flex;gap:.3rem;font-variant-numeric:tabular-nums;font-size:clamp(.62rem,1.9vw,1rem)'>"
        f"{columns}</div>"
    )


def legend(name: str) -> str:
    """What the colours of the river mean."""
    meaning = {ATTENTION: "attention adds", colours.ACCENT: f"{name}, block by block", MLP: "the MLP adds"}
    items = "".join(
        f"<span style='white-space:nowrap'><span style='display:inline-block;width:.9em;height:.9em;"
        f"border-radius:2px;background:{colour};vertical-align:-.1em'></span> {words}</span>"
        for colour, words in meaning.items()
    )
    return (f"<div style='display:flex;flex-wrap:wrap;gap:.2rem 1.4rem'>{items}<span style='opacity:.75'>"
            "bars: how long the added vector is, all on one scale; numbers: in % of the token's length before"
            "</span></div>")


def norm_table(x: np.ndarray, numbers: LayerNormNumbers, component: int) -> str:
    """A vector on its way through LayerNorm, in its mean, deviation and range, and in one of its numbers."""
    steps = {"x": x, "(x − μ) / σ": numbers.normalised, "· γ + β": numbers.out}
    head = ["", "mean", "deviation", "smallest", "largest", f"number {component + 1}"]
    lines = [
        [step, *map(plain, (v.mean(), v.std(), v.min(), v.max(), v[component]))]
        for step, v in steps.items()
    ]
    rows = "".join("<tr>" + "".join(cell(text, i) for i, text in enumerate(line)) + "</tr>" for line in lines)
    return ("<div style='overflow-x:auto'><table style='border-collapse:collapse;"
            "font-size:clamp(.7rem,2vw,1.1rem);font-variant-numeric:tabular-nums'><tr>"
            + "".join(cell(text, i, "th") for i, text in enumerate(head)) + f"</tr>{rows}</table></div>")


def cell(text: str, column: int, tag: str = "td") -> str:
    side, weight = ("right", 600 if column == 5 else 400) if column else ("left", 400)
    style = f"padding:.25rem .6em;white-space:nowrap;text-align:{side};font-weight:{weight}"
    return f"<{tag} style='{style}'>{text}</{tag}>"


def mean_of_others(similarity: np.ndarray, token: int) -> np.ndarray:
    """(L+1,): the token's mean cosine with all tokens but itself."""
    return np.delete(similarity[:, token], token, axis=-1).mean(-1)
