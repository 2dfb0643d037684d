"""The pieces that pages are laid out with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import streamlit as st

from vit.charts.provenance import unfolded
from vit.drawing import files
from vit.ui import state
from vit.ui.markup import as_text as as_text
from vit.ui.show import show

if TYPE_CHECKING:
    from vit.explain import DotProduct
    from vit.ui.view import View


def equation(symbols: str, numbers: str | Sequence[str] = ()) -> None:
    """The paper's equation, and below it the same with the numbers of this drawing."""
    if state.hides("maths"):
        return
    strut = r"\rule[-0.4em]{0pt}{1.7em}"  # or the page cuts off what stands above the first line
    lines = [strut + symbols, *([numbers] if isinstance(numbers, str) else numbers)]
    st.latex(r"\begin{gathered}" + r" \\[1.2em] ".join(lines) + r"\end{gathered}")  # one element: quicker than many


def provenance(name: str, sentence: str, product: "DotProduct", left: str, right: str, count_from: int = 1) -> None:
    """Where a value comes from: a sentence, its largest terms, how many others there are, and the total.

    Terms are counted from 1, and from 0 where they are tokens, of which CLS is number 0.
    """
    show(unfolded(name, sentence, product, left, right, count_from))


def try_this(prompt: str) -> None:
    if not state.hides("try"):
        st.info(f"**Try:** {prompt}", icon=":material/edit:")


def quiz(key: str, question: str, options: Sequence[str], solve: Callable[[], tuple[str, str]]) -> bool:
    """Predict, then reveal: the visitor commits to an answer before `solve` measures the right one and tells why.

    Gives back whether the page may tell the answer now.
    """
    if state.hides("quiz"):
        return True
    with st.container(border=True):
        # not a radio: an arrow key, meant to turn the page, would choose another answer
        guess = st.pills(f"**Predict:** {question}", options, key=f"quiz_{key}")
        if guess is not None:
            answer, reveal = solve()
            verdict = "Right" if guess == answer else "Not quite"
            st.markdown(f"**{verdict}: {answer}.** {reveal}")
    return guess is not None


def picture_file(called: str) -> BinaryIO | None:
    """What the visitor uploads, or takes with the camera."""
    source = st.segmented_control(f"Where is the {called}?", ("a file", "the camera"), default="a file", required=True)
    if source == "a file":
        return st.file_uploader(f"Upload a {called}", type=list(files.ENDINGS))
    return st.camera_input(f"Take a {called}")


def look_closer(view: "View", panels: dict[str, Callable[["View"], None]], key: str) -> None:
    """One of several panels, chosen by the visitor."""
    names = list(panels)
    st.session_state[key] = opened = state.panel(names)
    st.segmented_control("Look closer", names, required=True, key=key,
                         on_change=lambda: state.open_panel(st.session_state[key], names))
    panels[opened](view)


@dataclass(frozen=True)
class OneOf:
    """One of many numbers of a kind, chosen by a click or by a plain control; counted from 0, shown from 1."""

    kind: str
    count: int
    otherwise: int = 0  # until one is chosen

    @property
    def chosen(self) -> int:
        return min(int(st.session_state.get(f"chosen_{self.kind}", self.otherwise)), self.count - 1)

    def choose(self, number: int) -> None:
        st.session_state[f"chosen_{self.kind}"] = min(number, self.count - 1)

    def control(self) -> None:
        widget = f"{self.kind}_widget"
        st.session_state[widget] = self.chosen + 1
        st.number_input(f"{self.kind}, of {self.count}", 1, self.count, key=widget,
                        on_change=lambda: self.choose(st.session_state[widget] - 1))
