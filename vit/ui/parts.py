"""The pieces that pages are laid out with."""

import html
from collections.abc import Callable, Sequence
from math import floor, isfinite, log10

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from vit.charts import colours
from vit.charts.numbers import fixed
from vit.ui import state

GRID_PICTURE_JS = """
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".picture");
  const part = (name) => root.querySelector(name);
  const frame = part(".frame"), tip = part(".tip"), scale = part(".scale");
  const { rows, columns } = data;
  const percent = (share) => `${100 * share}%`;
  root.drawn ??= {};
  const draw = (name, ingredients, how) => {  // only what has changed: a page has many pictures
    const now = JSON.stringify(ingredients);
    if (root.drawn[name] !== now) how();
    root.drawn[name] = now;
  };
  const { width, aspect, clickable, rowNames, columnNames, corner } = data;
  draw("frame", [rows, columns, width, aspect, clickable, rowNames, columnNames, corner], () => {
    const left = rowNames.length ? "2.2rem" : "0px";
    frame.style.width = `min(100% - ${left}, ${width}px)`;
    frame.style.aspectRatio = aspect;
    frame.style.cursor = clickable ? "pointer" : "default";
    frame.style.marginLeft = left;
    frame.style.marginTop = columnNames.length ? "1.5rem" : "0";
    part(".corner").textContent = corner;
    const name = (text, left, top, kind) => {
      const span = document.createElement("span");
      span.textContent = text;
      span.className = kind;
      span.style.left = left;
      span.style.top = top;
      return span;
    };
    part(".names").replaceChildren(
      ...rowNames.map((text, r) => name(text, "-0.4rem", percent((r + 0.5) / rows), "row")),
      ...columnNames.map((text, c) => name(text, percent((c + 0.5) / columns), "-0.2rem", "column")));
  });
  draw("image", [data.source, data.alt], () => Object.assign(part("img"), { src: data.source, alt: data.alt }));
  draw("lines", [rows, columns, data.lines], () => {
    const line = (x1, y1, x2, y2) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
    let lines = "";
    for (let r = 1; data.lines && r < rows; r++) lines += line(0, r, columns, r);
    for (let c = 1; data.lines && c < columns; c++) lines += line(c, 0, c, rows);
    part("svg").setAttribute("viewBox", `0 0 ${columns} ${rows}`);
    part("svg").innerHTML = lines;
  });
  const inCell = (element, index) => {
    element.style.left = percent((index % columns + 0.5) / columns);
    element.style.top = percent((Math.floor(index / columns) + 0.5) / rows);
    return element;
  };
  draw("boxes", [rows, columns, data.chosen, data.dashed], () => {
    const box = (index, kind) => {
      const cell = inCell(document.createElement("div"), index);
      cell.className = kind;
      cell.style.width = `max(${percent(1 / columns)}, 14px)`;  // a thin cell would vanish under its own frame
      cell.style.height = `max(${percent(1 / rows)}, 14px)`;
      return cell;
    };
    part(".boxes").replaceChildren(
      ...data.chosen.map((i) => box(i, "whole")), ...data.dashed.map((i) => box(i, "broken")));
  });
  draw("words", [rows, columns, data.words, data.bright], () => {
    const bright = new Set(data.bright);
    part(".words").replaceChildren(...Object.entries(data.words).map(([index, text]) => {
      const word = inCell(document.createElement("span"), index);
      word.textContent = text;
      word.className = bright.has(Number(index)) ? "on-bright" : "";
      return word;
    }));
  });
  draw("scale", [data.scale, data.width], () => {
    scale.style.display = data.scale ? "flex" : "none";
    scale.style.width = `min(100%, ${data.width}px)`;
    if (!data.scale) return;
    for (const name of ["low", "high", "caption"]) scale.querySelector(`.${name}`).textContent = data.scale[name];
    scale.querySelector(".bar").style.background = data.scale.gradient;
  });
  const cellAt = (event) => {
    const area = frame.getBoundingClientRect();
    const c = Math.floor((event.clientX - area.left) / area.width * columns);
    const r = Math.floor((event.clientY - area.top) / area.height * rows);
    return Math.min(Math.max(r, 0), rows - 1) * columns + Math.min(Math.max(c, 0), columns - 1);
  };
  frame.onclick = (event) => { if (data.clickable) setTriggerValue("cell", cellAt(event)); };
  frame.onpointermove = (event) => {
    const text = data.labels[cellAt(event)];
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    const area = frame.getBoundingClientRect();
    const x = event.clientX - area.left;
    tip.style.left = `${Math.min(x + 12, Math.max(0, area.width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - area.top + 16}px`;
  };
  frame.onpointerleave = () => { tip.style.display = "none"; };
}
"""
GRID_PICTURE_HTML = """
<div class="picture"><div class="corner"></div>
<div class="frame"><img><div class="names"></div><svg preserveAspectRatio="none"></svg><div class="boxes"></div>
<div class="words"></div><div class="tip"></div></div>
<div class="scale"><span class="low"></span><span class="bar"></span><span class="high"></span>
<span class="caption"></span></div></div>
"""
GRID_PICTURE_CSS = f"""
.frame {{ position: relative; max-width: 100%; }}
.frame img, .frame svg {{ position: absolute; inset: 0; width: 100%; height: 100%; display: block; }}
.frame img {{ image-rendering: pixelated; border-radius: 4px; }}
.words span {{ position: absolute; transform: translate(-50%, -50%); font: 600 0.8rem var(--st-font, sans-serif);
  color: #fff; -webkit-text-stroke: 3px #000c; paint-order: stroke; pointer-events: none; white-space: nowrap; }}
.words .on-bright {{ color: #000; -webkit-text-stroke-color: #fffc; }}
.names span {{ position: absolute; font: 0.8rem var(--st-font, sans-serif); color: var(--st-text-color); }}
.names .row {{ transform: translate(-100%, -50%); }}
.names .column {{ transform: translate(-50%, -100%); }}
.corner {{ font: 0.8rem var(--st-font, sans-serif); color: var(--st-text-color); opacity: 0.75; }}
.frame line {{ stroke: #7d8694; stroke-opacity: 0.55; stroke-width: 1; vector-effect: non-scaling-stroke; }}
.boxes div {{ position: absolute; transform: translate(-50%, -50%); pointer-events: none; border-radius: 1px;
  border: 3px solid {colours.ACCENT}; outline: 1.5px solid #000b; box-shadow: inset 0 0 0 1.5px #000b; }}
.boxes .broken {{ border-style: dashed; }}
.tip {{ position: absolute; display: none; z-index: 9; padding: 0.2rem 0.5rem; border-radius: 0.3rem;
  background: #000d; color: #fff; font: 0.9rem var(--st-font, sans-serif); white-space: pre; pointer-events: none; }}
.scale {{ align-items: center; gap: 0.4rem; margin-top: 0.35rem; max-width: 100%; flex-wrap: wrap;
  font: 0.85rem var(--st-font, sans-serif); color: var(--st-text-color); }}
.bar {{ display: inline-block; width: clamp(2rem, 35%, 6rem); height: 0.7rem; border-radius: 2px; }}
.caption {{ opacity: 0.75; }}
"""

_grid_picture = None


def grid_picture(
    pixels: np.ndarray, rows: int, columns: int, *, key: str, alt: str, width: int = 420,
    chosen: Sequence[int] = (), dashed: Sequence[int] = (), labels: Sequence[str] = (),
    words: dict[int, str] | None = None,
    on_choose: Callable[[int], None] | None = None, scale: tuple | None = None, lines: bool = True,
    row_names: Sequence[str] = (), column_names: Sequence[str] = (), corner: str = "",
) -> None:
    """An array of RGB pixels, seen as rows x columns cells: hover to read one, click to choose it.

    `chosen` cells get a frame, `dashed` ones a broken one; `labels` are shown on hover,
    `words` (by cell) always; `scale` is (colour scale, low, high, caption).
    """
    global _grid_picture
    if _grid_picture is None:
        _grid_picture = st.components.v2.component(
            "patchwise_grid_picture", html=GRID_PICTURE_HTML, css=GRID_PICTURE_CSS, js=GRID_PICTURE_JS
        )

    def clicked():
        cell = st.session_state[key].cell
        if cell is not None and on_choose:
            on_choose(int(cell))

    picture = {
        "source": colours.data_uri(pixels), "rows": rows, "columns": columns, "width": width, "alt": alt,
        "aspect": pixels.shape[1] / pixels.shape[0], "chosen": list(map(int, chosen)), "lines": lines,
        "dashed": list(map(int, dashed)),
        "labels": list(labels), "words": words or {},
        "bright": bright_cells(pixels, rows, columns) if words else [], "clickable": on_choose is not None,
        "rowNames": list(row_names), "columnNames": list(column_names), "corner": corner,
        "scale": scale and {
            "gradient": colours.css_gradient(scale[0]), "low": number(scale[1]), "high": number(scale[2]),
            "caption": scale[3],
        },
    }
    # In a list: in a dictionary Streamlit would ask of each value whether it is a data frame.
    _grid_picture(key=key, data=[picture], on_cell_change=clicked)


def bright_cells(pixels: np.ndarray, rows: int, columns: int) -> list[int]:
    """The cells on which dark words are easier to read than white ones, judged by the middle of each."""
    y = ((np.arange(rows) + 0.5) * pixels.shape[0] / rows).astype(int)
    x = ((np.arange(columns) + 0.5) * pixels.shape[1] / columns).astype(int)
    light = pixels[np.ix_(y, x)] @ [0.3, 0.59, 0.11]
    return np.flatnonzero(light > 140).tolist()


def number(value: float | str) -> str:
    """Three digits that matter, with a proper minus; words stay as they are."""
    if isinstance(value, str):
        return value
    value = float(value)
    text = f"{value:.0f}" if abs(value) >= 1000 or value.is_integer() else f"{value:#.3g}".rstrip(".")
    if "e" in text:
        text = f"{value:.1e}"
    return text.replace("-", "−")


def column(values: Sequence[float]) -> list[str]:
    """Numbers to be added up below each other: all with the decimals that give the largest four digits."""
    largest = max((abs(value) for value in values if isfinite(value)), default=0) or 1
    decimals = min(max(3 - floor(log10(largest)), 0), 8)
    return [fixed(value, decimals).replace("-", "−") for value in values]


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def equation(symbols: str, numbers: str | Sequence[str] = ()) -> None:
    """The paper's equation, and below it the same with the numbers of this drawing."""
    if "maths" in state.get().hidden:
        return
    strut = r"\rule[-0.4em]{0pt}{1.7em}"  # or the page cuts off what stands above the first line
    lines = [strut + symbols, *([numbers] if isinstance(numbers, str) else numbers)]
    st.latex(r"\begin{gathered}" + r" \\[1.2em] ".join(lines) + r"\end{gathered}")  # one element: quicker than many


def row_vector(values: Sequence[float], most: int = 16, per_line: int = 4) -> str:
    """A vector as LaTeX, in short lines, with dots where it is longer than can be shown."""
    shown = [fixed(value, 2) for value in values[:most]]
    lines = [" & ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
    dots = r" \\ \dots" if len(values) > most else ""
    return r"\begin{bmatrix}" + r" \\ ".join(lines) + dots + r"\end{bmatrix}"


def provenance(name: str, sentence: str, product, left: str, right: str, count_from: int = 1) -> None:
    """Where a value comes from: a sentence, its largest terms, how many others there are, and the total.

    Terms are counted from 1, and from 0 where they are tokens, of which CLS is number 0.
    """
    *products, rest, bias, total = column(
        [*(term.product for term in product.terms), product.rest_sum, product.bias, product.total]
    )
    rows = "".join(
        f"<tr><td>{left}<sub>{term.index + count_from}</sub> · {right}<sub>{term.index + count_from}</sub></td>"
        f"<td>{number(term.a)} × {number(term.b)}</td><td>{shown}</td></tr>"
        for term, shown in zip(product.terms, products, strict=True)
    )
    if product.rest_count:
        rows += f"<tr><td>{product.rest_count} other terms</td><td></td><td>{rest}</td></tr>"
    if product.bias:
        rows += f"<tr><td>bias</td><td></td><td>{bias}</td></tr>"
    st.html(
        f"<div style='font-size:1rem'><b>{html.escape(name)} = {total}</b><br>"
        f"<span style='opacity:.8'>{html.escape(sentence)}</span>"
        "<table style='border-collapse:collapse;margin-top:.3rem;font-variant-numeric:tabular-nums'>"
        f"{rows}<tr style='border-top:1px solid currentColor;font-weight:600'><td>total</td><td></td>"
        f"<td>{total}</td></tr></table></div>"
        "<style>td{padding:.1rem .8rem .1rem 0}td:last-child{text-align:right}</style>"
    )


def try_this(prompt: str) -> None:
    if "try" not in state.get().hidden:
        st.info(f"**Try:** {prompt}", icon=":material/edit:")


def quiz(key: str, question: str, options: Sequence[str], solve: Callable[[], tuple[str, str]]) -> bool:
    """Predict, then reveal: the visitor commits to an answer before `solve` measures the right one and tells why.

    Gives back whether the page may tell the answer now.
    """
    if "quiz" in state.get().hidden:
        return True
    with st.container(border=True):
        # not a radio: an arrow key, meant to turn the page, would choose another answer
        guess = st.pills(f"**Predict:** {question}", options, key=f"quiz_{key}")
        if guess is not None:
            answer, reveal = solve()
            verdict = "Right" if guess == answer else "Not quite"
            st.markdown(f"**{verdict}: {answer}.** {reveal}")
    return guess is not None
