"""The frontend folder, read as text: style sheets, scripts, and templates that put values into HTML."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from vit import glossary
from vit.charts import colours

FRONTEND = Path(__file__).parent / "frontend"
IMPORT = re.compile(r'^import [^;]+ from "\./([\w.]+)";\n', re.MULTILINE)


@cache
def text(file: str) -> str:
    return (FRONTEND / file).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    # What comes from outside, such as the name of a run, is escaped wherever a template shows it.
    return Environment(loader=FileSystemLoader(FRONTEND), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                       lstrip_blocks=True, auto_reload=False)


def render(template: str, **values: Any) -> str:
    return _templates().get_template(f"{template}.html").render(values)


@cache
def around_pages() -> str:
    """What all pages share, for the HTML file that they are shown in; the colours are those of the charts."""
    terms = [{"name": term.name, "also": term.also, "meaning": term.meaning, "symbol": term.symbol}
             for term in glossary.TERMS if term.marked]
    return render("page", style=text("page.css") + text("frame.css"), script=text("page.js"), colours=colours.CSS,
                  terms=terms, groups=glossary.GROUPS, scripts_of_claims=" ".join(scripts_of_claims()))


def scripts_of_claims() -> list[str]:
    """The files, by names that change with each version, in which Streamlit sends what only claims need at once."""
    scripts = Path(st.__file__).parent / "static" / "static" / "js"
    kinds = ("PlotlyChart", "StreamlitSyntaxHighlighter")
    return [file.name for kind in kinds for file in scripts.glob(f"{kind}.*.js")]


@cache
def component(name: str, styled_by_page: bool = False) -> Callable[..., Any]:
    """One of our own components: NAME.js, with NAME.html and NAME.css where it has them, or the page's style sheet."""
    html, css = (text(file) if (FRONTEND / (file := f"{name}.{kind}")).exists() else None for kind in ("html", "css"))
    return st.components.v2.component(f"patchwise_{name}", html=html, css=css, js=script(f"{name}.js"),
                                      isolate_styles=not styled_by_page)


def script(file: str) -> str:
    """A script and all that it imports from beside it, as one: a component has no address to import from."""
    needed: list[str] = []

    def gather(name: str) -> None:
        for other in IMPORT.findall(text(name)):
            gather(other)
        if name not in needed:
            needed.append(name)

    gather(file)
    *others, last = (IMPORT.sub("", text(name)) for name in needed)
    return "".join(re.sub(r"^export ", "", other, flags=re.MULTILINE) for other in others) + last


def as_text(words: str) -> str:
    """Words from outside, such as a link's, for a place that reads Markdown: shown as they are, and nothing of them is
    a link, a picture or a formula."""
    escaped = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", words)
    # Addresses become links even so; a word joiner, which nobody sees, breaks them up.
    return re.sub(r"(?i)(https?\\:|www|@)", "\\1\u2060", escaped)
