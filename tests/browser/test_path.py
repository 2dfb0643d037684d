"""Finding one's way: the path, the tour, Back and Forward, the top of a page, and what words mean."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import click_cell, draw, drawn_code, ink_at, settled
from tests.support.runs import wait_for
from vit.glossary import GROUPS
from vit.ui import frame, tour

HEADS = "where CLS looks, in every head of every layer"


def scrolled(page) -> float:
    return page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop")


def test_next_leads_all_the_way_and_each_page_starts_at_its_top(page, app_url):
    page.goto(f"{app_url}/?d=s3")
    for title in list(frame.PATH.values())[1:]:
        page.get_by_role("button", name=f"Next: {title}").click()
        expect(page.get_by_role("link", name=title, exact=True)).to_have_attribute("aria-current", "page")
        settled(page)
        page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0")
    expect(page.get_by_role("button", name=re.compile("^Next"))).to_have_count(0)


def test_back_and_forward_step_through_what_the_visitor_chose(page, app_url):
    page.goto(f"{app_url}/attention?d=s0")
    click_cell(page, HEADS, 3, 9, 10, 16)
    expect(page).to_have_url(re.compile("head=10"))
    settled(page)
    click_cell(page, HEADS, 6, 4, 10, 16)
    expect(page).to_have_url(re.compile("head=5"))
    settled(page)
    page.get_by_role("radio", name="Whole pattern").click()
    expect(page).to_have_url(re.compile("panel=whole-pattern"))
    settled(page)
    page.get_by_role("link", name="Layers").click()
    expect(page).to_have_url(re.compile("/layers.*layer=7"))
    settled(page)

    page.go_back()  # past the page without parameters that the menu leads to
    expect(page.get_by_role("radio", name="Whole pattern")).to_be_checked()
    expect(page.get_by_text("Head 5 of layer 7 spends")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("radio", name="One pair")).to_be_checked()
    page.go_back()
    expect(page.get_by_text("Head 10 of layer 4 spends")).to_be_visible()
    expect(page.get_by_label("layer, of 10")).to_have_value("4")
    page.go_forward()
    expect(page.get_by_text("Head 5 of layer 7 spends")).to_be_visible()
    settled(page)
    assert "layer=7" in page.url


def test_back_takes_a_stroke_away_and_forward_brings_it_back(page, app_url):
    page.goto(app_url)
    draw(page, [(90, 80), (240, 80)])
    first = drawn_code(page)
    settled(page)
    draw(page, [(240, 80), (160, 270)])
    expect(page).to_have_url(re.compile(re.escape(first) + r"\.[\w-]+"))
    settled(page)
    page.go_back()
    expect(page).to_have_url(re.compile(re.escape(first) + "$"))
    wait_for(lambda: ink_at(page, 165, 80) and not ink_at(page, 200, 175))
    settled(page)
    draw(page, [(110, 170), (220, 170)])  # goes on from there
    expect(page).to_have_url(re.compile(re.escape(first) + r"\.[\w-]+"))


def test_nothing_jumps_when_a_sample_is_picked(page, app_url):
    page.goto(app_url)
    samples = page.locator(".st-key-samples .frame")
    expect(samples).to_be_visible()
    settled(page)
    before = samples.bounding_box()
    samples.click(position={"x": before["width"] * 1.5 / 7, "y": before["height"] / 4})
    expect(page.locator("[data-testid=answer]")).to_have_text("1")
    settled(page)
    assert samples.bounding_box()["y"] == pytest.approx(before["y"], abs=2)


def test_a_phone_shows_the_answer_right_below_the_canvas(new_page, app_url):
    page = new_page(390)
    page.goto(f"{app_url}/?d=s3")
    answer = page.locator("[data-testid=answer]")
    expect(answer).to_be_visible()
    settled(page)
    assert answer.bounding_box()["y"] < page.locator(".pw-steps").bounding_box()["y"]
    menu = page.get_by_test_id("stExpandSidebarButton")
    assert menu.evaluate("button => getComputedStyle(button, '::after').content") == '"Menu"'


def test_the_tour_brings_each_thing_into_view_and_frames_it(page, app_url):
    page.goto(f"{app_url}/?d=s3")
    page.get_by_role("button", name="Tour").click()
    story = tour.stops(frame.PATH)
    for number, stop in enumerate(story):
        expect(page.get_by_text(f"{number + 1} of {len(story)}.")).to_be_visible()
        framed = page.locator(f"{stop.points_at}[data-pw-pointed]")
        expect(framed).to_have_count(1)
        expect(framed).to_be_in_viewport()
        expect(page.locator("[data-pw-pointed]")).to_have_count(1)
        settled(page)
        if number + 1 < len(story):
            page.get_by_role("button", name="Next stop").click()
    page.get_by_role("button", name="Finish").click()
    expect(page.locator("[data-pw-pointed]")).to_have_count(0)


MARKED = "() => [...(CSS.highlights.get('pw-term') ?? [])].map((range) => range.toString())"
PLACE = """(word) => {
  const range = [...CSS.highlights.get('pw-term')].find((range) => range.toString() === word);
  const { x, y, width, height } = range.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


def test_a_word_tells_its_meaning_where_it_stands(page, app_url):
    page.goto(f"{app_url}/attention?d=s3")
    page.wait_for_function(f"['CLS', 'softmax', 'q'].every((word) => ({MARKED})().includes(word))")
    settled(page)
    marked = page.evaluate(MARKED)
    assert len(marked) == len(set(marked))
    tip = page.locator(".pw-tip")
    page.mouse.move(*page.evaluate(PLACE, "CLS"))
    expect(tip).to_contain_text("collects what the answer needs")
    page.mouse.move(5, 500)
    expect(tip).to_be_hidden()
    page.mouse.click(*page.evaluate(PLACE, "CLS"))
    expect(tip).to_be_visible()
    page.locator(".pw-explain").focus()
    page.keyboard.press("ArrowDown")
    expect(tip).to_contain_text(re.compile(r"\w+ \w+"))
    settled(page)


def test_all_words_stand_in_a_list_that_can_be_searched(page, app_url):
    page.goto(app_url)
    page.get_by_role("button", name="Words", exact=True).click()
    entries = page.locator(".pw-glossary dl > div:visible")
    expect(entries).to_have_count(sum(map(len, GROUPS.values())))
    page.get_by_label("Find a word").fill("smoothing")
    expect(entries).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".pw-glossary")).to_be_hidden()


def test_the_page_is_sketched_before_its_scripts_have_come(new_page, app_url):
    bare = new_page(java_script_enabled=False)
    bare.goto(app_url)
    expect(bare.locator(".pw-sketch")).to_be_visible()
    page = new_page()
    page.goto(app_url)
    expect(page.get_by_role("heading", name="What does the model see?")).to_be_visible()
    expect(page.locator(".pw-sketch")).to_be_hidden()
