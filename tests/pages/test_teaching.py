"""The teachers' page keeps its word: each link opens the app as it says, and the page says what is quoted."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.pages.test_explorer import words
from vit.ui import frame

TEXT = " ".join((Path(__file__).parents[2] / "TEACHING.md").read_text(encoding="utf-8").split())
LINK = re.compile(r"\]\((http://localhost:8501/[^)]*)\)")
PLACES = [*LINK.finditer(TEXT)]
STEPS = [(found[1], TEXT[found.end() : (PLACES[number + 1].start() if number + 1 < len(PLACES) else len(TEXT))])
         for number, found in enumerate(PLACES)]


def quoted(text: str) -> list[str]:
    """What the page says; what classes say is quoted elsewhere."""
    return re.findall(r"“([^”]*)”", re.sub(r"\*What classes get wrong\*.*", "", text))


@pytest.mark.parametrize(("link", "told"), STEPS, ids=[link.removeprefix("http://localhost:8501") for link, _ in STEPS])
def test_each_link_for_teachers_opens_without_a_notice_and_shows_what_it_promises(open_app, link, told):
    address = urlsplit(link)
    visitor = open_app(address.path.strip("/") or "draw", **dict(parse_qsl(address.query)))
    assert not visitor.exception
    assert not visitor.warning
    assert visitor.session_state.page == (address.path.strip("/") or "draw")
    shown = " ".join([words(visitor), *(html.proto.body for html in visitor.get("html"))]).replace("*", "")
    for sentence in quoted(told):
        assert sentence in " ".join(shown.split())


def test_the_lesson_visits_every_page():
    visited = {urlsplit(link).path.strip("/") or "draw" for link, _ in STEPS}
    assert visited == set(frame.PATH)
