"""A story that matches what is on the screen, and notices what the visitor has done."""

import pytest

from tests.pages.test_explorer import SEVEN, SMALL, words
from vit import drawing
from vit.drawing import from_picture, from_strokes
from vit.ui import frame, tour

STROKES = from_strokes([[(90, 80), (240, 80), (160, 270)]])


def start(visitor):
    next(button for button in visitor.button if button.label == "Tour").click().run()
    return visitor


def story(visitor) -> str:
    return next(text.value for text in visitor.markdown if " of " in text.value and text.value.startswith("**"))


def test_the_tour_leads_through_all_pages_and_has_about_twelve_stops():
    story = tour.stops(frame.PATH)
    assert 10 <= len(story) <= 14
    assert {stop.page for stop in story} == set(frame.PATH)
    later = [stop.page for stop in story if stop.page not in ("draw", "machine")]
    assert later == sorted(later, key=list(frame.PATH).index)


def test_who_has_not_drawn_starts_with_a_digit(shipped, open_app):
    shipped(SMALL)
    visitor = start(open_app())
    assert visitor.session_state.drawing is not None
    assert story(visitor).startswith(f"**1 of {len(tour.stops(frame.PATH))}.**")


@pytest.mark.parametrize(("chosen", "told"), [
    (drawing.from_code(SEVEN), "The digit you picked"), (STROKES, "Your ink is cropped"),
    (from_picture(drawing.from_code(SEVEN).image()), "On your photo"),
])
def test_the_story_is_about_what_is_on_the_screen(shipped, open_app, chosen, told):
    shipped(SMALL)
    visitor = open_app(d=chosen.code)
    number = [stop.words for stop in tour.stops(frame.PATH)].index(tour.what_goes_in)
    visitor.session_state.tour_stop, visitor.session_state.tour_before = number, {}
    assert told in story(visitor.run())


def test_a_stop_points_at_one_thing_and_notices_when_it_is_done(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN)
    number = [stop.words for stop in tour.stops(frame.PATH)].index(tour.all_heads)
    visitor.session_state.tour_stop, visitor.session_state.tour_before = number, {"d": SEVEN}
    visitor.run()
    assert any('data-pw-points-at=".st-key-heads"' in html.proto.body for html in visitor.get("html"))
    assert "Done." not in words(visitor)
    visitor.number_input(key="head_widget").set_value(2).run()
    assert "Done." in words(visitor)
    visitor.button(key="tour_leave").click().run()
    assert "Done." not in words(visitor)
