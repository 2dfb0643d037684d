"""The frontend folder, read as text: style sheets, scripts, and templates that put values into HTML."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from vit import glossary
from vit.charts import colours

FRONTEND = Path(__file__).parent / "frontend"


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
                  terms=terms, groups=glossary.GROUPS)


@cache
def component(name: str, styled_by_page: bool = False) -> Callable[..., Any]:
    """One of our own components: NAME.js, with NAME.html and NAME.css where it has them, or the page's style sheet."""
    html, css, js = (text(file) if (FRONTEND / (file := f"{name}.{kind}")).exists() else None
                     for kind in ("html", "css", "js"))
    return st.components.v2.component(f"patchwise_{name}", html=html, css=css, js=js,
                                      isolate_styles=not styled_by_page)
