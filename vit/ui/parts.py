"""The pieces that pages are laid out with."""

import html
import re
from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from vit.charts.numbers import column, number, row_vector  # noqa: F401
from vit.charts.picture import Legend, PixelPicture
from vit.ui import state
from vit.ui.show import show


def grid_picture(
    pixels: np.ndarray, rows: int, columns: int, *, key: str, alt: str, width: int = 420,
    chosen: Sequence[int] = (), dashed: Sequence[int] = (), labels: Sequence[str] = (),
    words: dict[int, str] | None = None,
    on_choose: Callable[[int], None] | None = None, scale: tuple | None = None, lines: bool = True,
    row_names: Sequence[str] = (), column_names: Sequence[str] = (), corner: str = "",
) -> None:
    """The old way, until every page makes Pictures."""
    show(PixelPicture(
        pixels, rows, columns, alt=alt, width=width, chosen=list(chosen), dashed=list(dashed), labels=labels,
        words=words or {},
        legend=scale and Legend(*scale), lines=lines, row_names=row_names, column_names=column_names, corner=corner,
    ), key, on_choose)


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def equation(symbols: str, numbers: str | Sequence[str] = ()) -> None:
    """The paper's equation, and below it the same with the numbers of this drawing."""
    if "maths" in state.get().hidden:
        return
    strut = r"\rule[-0.4em]{0pt}{1.7em}"  # or the page cuts off what stands above the first line
    lines = [strut + symbols, *([numbers] if isinstance(numbers, str) else numbers)]
    st.latex(r"\begin{gathered}" + r" \\[1.2em] ".join(lines) + r"\end{gathered}")  # one element: quicker than many


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


def as_text(words: str) -> str:
    """Words from outside for where Markdown is read: none of their signs means anything there."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", words)
