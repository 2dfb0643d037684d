"""Pictures of the answer: how it grows from block to block, how it is read from CLS, and who is for it."""

import numpy as np

from vit.charts import colours
from vit.charts.layers import Picture, outline
from vit.charts.numbers import Size, latex_size, plain, with_sign
from vit.explain import Contributions, LogitLens

LENS_CELL = 30, 48  # pixels: height, width
BRIGHT = colours.PROBABLE
ROW = ("grid-column:1/-1;display:grid;grid-template-columns:subgrid;align-items:center;border-radius:4px;"
       "padding:.05rem .3em")


def lens(values: LogitLens, label: int) -> Picture:
    """The answer after the embedding and after each block: a row per depth, a column per class."""
    probabilities = values.probabilities
    depths, classes = probabilities.shape
    tall, wide = LENS_CELL
    pixels = colours.paint(probabilities, colours.WARM, 0, 1).repeat(tall, 0).repeat(wide, 1)
    outline(pixels, 0, label * wide, depths * tall, (label + 1) * wide, thickness=3)
    labels = [
        f"{depth_name(depth)}, class {number}\nprobability {probability:.2%}\n"
        f"logit {plain(values.logits[depth, number])}"
        for (depth, number), probability in np.ndenumerate(probabilities)
    ]
    words = {i: f"{p:.0%}" for i, p in enumerate(probabilities.ravel()) if p >= 0.005 and classes <= 12}
    return Picture(pixels, depths, classes, labels, words)


def depth_name(depth: int) -> str:
    return f"after block {depth}" if depth else "after the embedding"


def settled_at(values: LogitLens) -> int:
    """The depth from which on the largest probability is that of the final answer; 0 is the embedding."""
    answers = values.probabilities.argmax(-1)
    others = np.flatnonzero(answers != answers[-1])
    return int(others[-1]) + 1 if len(others) else 0


def settling(settled: int, depth: int, winner: int) -> str:
    if settled == depth:
        return f"Only the last block brings it to {winner}."
    return f"Stopped {depth_name(settled)} or later, the model would say {winner} as well."


def reading(cls_out: np.ndarray, row: np.ndarray) -> np.ndarray:
    """CLS, a class's weights, and their products: (3, D)."""
    return np.stack([cls_out, row, cls_out * row])


def bar_codes(rows: np.ndarray, dark: bool) -> np.ndarray:
    """Each row as stripes on its own scale around 0."""
    scaled = np.stack([row / colours.limit_of(row) for row in rows])
    return colours.paint(scaled, colours.signed(dark), -1, 1).repeat(8, 0)


def softmax_table(logits: np.ndarray, probabilities: np.ndarray, label: int, dark: bool) -> str:
    """From logits to probabilities as HTML: every exp term, and their sum."""
    terms, limit = np.exp(logits.astype(float)), colours.limit_of(logits)
    rows = "".join(
        table_row(number, *values, limit, number == label, number == probabilities.argmax(), dark)
        for number, values in enumerate(zip(logits, terms, probabilities, strict=True))
    )
    names = "".join(f"<span style='opacity:.75;text-align:right'>{name}</span>"
                    for name in ("", "logit", "", "e<sup>logit</sup>", "÷ sum", ""))
    return (
        "<div style='display:grid;grid-template-columns:repeat(2,auto auto minmax(1rem,1fr));"
        "column-gap:.7em;font-variant-numeric:tabular-nums;font-size:clamp(.8rem,2.2vw,1.1rem);"
        f"line-height:1.65rem'><div style='{ROW}'>{names}</div>{rows}"
        f"<div style='{ROW};border-top:1px solid currentColor;font-weight:700'><span style='grid-column:1/4'>"
        f"sum</span><span style='text-align:right'>{size(terms.sum())}</span>"
        "<span style='text-align:right'>100%</span></div></div>"
    )


def table_row(
    number: int, logit: float, term: float, probability: float, limit: float,
    chosen: bool, bold: bool, dark: bool,
) -> str:
    blue, red = poles(dark)
    left, width = min(logit, 0) / limit * 50 + 50, abs(logit) / limit * 50
    frame = f";outline:2px solid {colours.ACCENT}" if chosen else ""
    return (
        f"<div style='{ROW};font-weight:{700 if bold else 400}{frame}'><span>{number}</span>"
        f"<span style='text-align:right'>{plain(logit)}</span>"
        f"<span style='position:relative;height:.9rem;background:linear-gradient(90deg,transparent "
        f"calc(50% - 1px),{colours.CALM} 0 50%,transparent 0)'><span style='position:absolute;height:100%;"
        f"left:{left:.1f}%;width:{width:.1f}%;background:{blue if logit < 0 else red}'></span></span>"
        f"<span style='text-align:right'>{size(term)}</span>"
        f"<span style='text-align:right'>{probability:.1%}</span>"
        f"<span style='height:.9rem;background:#8a94a633'><span style='display:block;height:100%;"
        f"width:{probability:.1%};background:{BRIGHT}'></span></span></div>"
    )


def poles(dark: bool) -> tuple[str, str]:
    """The colours of against and for: the scale of signed values, where it is neither pale nor dark."""
    scale = colours.signed(dark)
    return (scale[0][1], scale[-1][1]) if dark else (scale[1][1], scale[-2][1])


def written_sum(logits: np.ndarray, label: int) -> str:
    """All exp terms and their sum, as one line that can wrap."""
    terms = np.exp(logits.astype(float))
    frame = f";outline:2px solid {colours.ACCENT}"
    line = " + ".join(
        f"<span style='white-space:nowrap{frame if number == label else ''}'>{size(term)}</span>"
        for number, term in enumerate(terms)
    )
    return (f"<div style='font-size:1.1rem;line-height:2;font-variant-numeric:tabular-nums'>{line} = "
            f"<b>{size(terms.sum())}</b></div>")


def size(value: float) -> str:
    """A positive number of any size: at least three digits that matter, in HTML."""
    mantissa, power = Size.of(value)
    return f"{mantissa}·10<sup>{power}</sup>" if power else mantissa


def steps(shares: Contributions) -> list[tuple[str, tuple[float, ...]]]:
    """Who adds what, in the order of the model; a block adds twice, by attention and by its MLP."""
    blocks = enumerate(zip(shares.attention, shares.mlp, strict=True), start=1)
    return [("z₀", (shares.embedding,)), *((str(number), both) for number, both in blocks),
            ("fixed", (shares.constant,))]


def waterfall(shares: Contributions, dark: bool) -> str:
    """From 0 to the difference of two logits, a line per block: each bar starts where the last ended."""
    sums = np.cumsum([0, *(value for _, values in steps(shares) for value in values)])
    low, high = float(sums.min()), float(sums.max())
    lines, done = waterfall_row("block", ("attention", "MLP"), "", "so far", "opacity:.75"), 0
    for name, values in steps(shares):
        bars = zero(low, high)
        for place, value in enumerate(values):
            colour = poles(dark)[int(value >= 0)]
            bars += bar(sums[done], sums[done + 1], low, high, colour, place, len(values))
            done += 1
        lines += waterfall_row(name, tuple(map(with_sign, values)), bars, plain(sums[done]))
    lines += waterfall_row(
        "all", (with_sign(shares.attention.sum()), with_sign(shares.mlp.sum())),
        zero(low, high) + bar(0, shares.total, low, high, colours.ACCENT), plain(shares.total),
        "border-top:1px solid currentColor;font-weight:700",
    )
    return (
        "<div style='display:grid;grid-template-columns:auto auto auto minmax(2rem,1fr) auto;column-gap:.9em;"
        "font-variant-numeric:tabular-nums;font-size:clamp(.8rem,2.2vw,1.05rem);line-height:1.6rem'>"
        f"{lines}</div>"
    )


def waterfall_row(name: str, values: tuple[str, ...], bars: str, so_far: str, style: str = "") -> str:
    span = 2 // len(values)  # what is neither attention nor MLP stands under both
    side = "right" if span == 1 else "center"
    numbers = "".join(
        f"<span style='grid-column:span {span};text-align:{side}'>{value}</span>"
        for value in values
    )
    return (f"<div style='{ROW};{style}'><span>{name}</span>{numbers}<span style='position:relative;"
            f"height:1.5rem'>{bars}</span><span style='text-align:right'>{so_far}</span></div>")


def bar(
    start: float, end: float, low: float, high: float, colour: str, place: int = 0, places: int = 1
) -> str:
    """A bar in a row that goes from low to high; several share its height."""
    span, height = (high - low) or 1, 84 / places
    left, width = (min(start, end) - low) / span * 100, abs(end - start) / span * 100
    return (f"<span style='position:absolute;top:{8 + place * height:.0f}%;height:{height:.0f}%;"
            f"left:{left:.2f}%;width:{width:.2f}%;min-width:2px;background:{colour}'></span>")


def zero(low: float, high: float) -> str:
    left = -low / ((high - low) or 1) * 100
    return (f"<span style='position:absolute;top:0;height:100%;left:{left:.2f}%;width:1px;"
            f"background:{colours.CALM}'></span>")


def softmax_line(logits: np.ndarray, probabilities: np.ndarray, label: int) -> str:
    """One class's share of the sum, in KaTeX."""
    terms = np.exp(logits.astype(float))
    share = probabilities[label]
    shown = f"{share:.4f}" if share >= 1e-4 else latex_size(share)
    return (rf"\frac{{\rule{{0pt}}{{1.2em}}e^{{{logits[label]:.2f}}}}}{{{latex_size(terms.sum())}}} = "
            rf"\frac{{{latex_size(terms[label])}}}{{{latex_size(terms.sum())}}} = {shown}")
