"""Several visitors at once, and one who prefers the dark."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.support.browser import PATH, click_cell, drawn_code, settled
from vit import checkpoints, drawing
from vit.charts import colours
from vit.trace import trace_image

MANY = 6


def test_many_visitors_at_once_each_see_their_own(new_page, app_url):
    model = checkpoints.load("explorer")
    visitors = [new_page() for _ in range(MANY)]
    for number, page in enumerate(visitors):
        page.goto(f"{app_url}/attention?d=s{number}", wait_until="commit")  # all of them before the first is answered
    for number, page in enumerate(visitors):
        click_cell(page, "where CLS looks, in every head of every layer", number, 2 * number, 10, 16)
    for number, page in enumerate(visitors):
        expect(page).to_have_url(re.compile(rf"layer={number + 1}\b") if number else re.compile("d=s0"))
        assert drawn_code(page) == f"s{number}"
        trace = trace_image(model, drawing.from_code(f"s{number}").image())
        best = np.sort(trace.blocks[number].pattern[2 * number, 0, 1:])[-3:].sum()
        expect(page.get_by_text(f"Head {2 * number + 1} of layer {number + 1} spends {best:.0%}")).to_be_visible()
        settled(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_follow_the_theme_that_a_visitor_prefers(new_page, app_url, scheme):
    page = new_page(color_scheme=scheme)
    page.goto(f"{app_url}/?d=s3")
    for title in PATH[1:]:
        page.get_by_role("button", name=f"Next: {title}").click()
        expect(page.get_by_role("button", name=re.compile("Back"))).to_be_visible()
        settled(page)
    middle = colours.signed(dark=scheme == "dark")[2][1]
    stripes = page.locator(".scale .bar").nth(1)
    expect(stripes).to_have_attribute("style", re.compile(rgb_of(middle)))
    background = page.locator("[data-testid=stApp]").evaluate("element => getComputedStyle(element).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 150) == (scheme == "dark")


def rgb_of(colour: str) -> str:
    return r"rgb\({}, {}, {}\)".format(*colours.rgb(colour))
