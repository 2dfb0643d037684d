"""Training as a visitor sees it: points arrive, the pointer reads them, a page switch disturbs nothing."""

import re
import time

from playwright.sync_api import expect

PATIENCE = 120_000  # milliseconds; the workers may share the machine with others


def open_training(page, app_url):
    page.goto(app_url)
    page.get_by_role("link", name="Train").click()
    expect(page.get_by_role("button", name="Start both twins")).to_be_enabled(timeout=PATIENCE)


def steps_shown(page) -> int:
    shown = page.get_by_text(re.compile(r"^Step [\d,]+")).inner_text()
    return int(re.search(r"Step ([\d,]+)", shown)[1].replace(",", ""))


def scroll_position(page) -> float:
    return page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop")


def hover(page, key: str):
    """Point into a chart, and give back what it tells there."""
    chart = page.locator(f".st-key-{key} .curves")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return chart.locator(".tip")


def test_start_watch_switch_pages_stop_and_open_in_the_explorer(page, app_url):
    open_training(page, app_url)
    page.get_by_role("button", name="Start both twins").click()
    expect(page.locator(".gap")).to_have_text(re.compile(r"^[+−]\d+\.\d"), timeout=PATIENCE)
    expect(page.get_by_text("Who pays?")).to_be_visible()

    told = hover(page, "train_accuracy")
    for name in ("without flips · training", "without flips · validation", "with flips · validation"):
        expect(told).to_contain_text(name)
    expect(told).to_contain_text(re.compile(r"\d+\.\d %"))
    before, scrolled = steps_shown(page), scroll_position(page)
    expect(page.get_by_text(re.compile(r"^Step [\d,]+"))).not_to_have_text(re.compile(rf"^Step {before:,},"))
    for _ in range(20):  # the chart is redrawn under the pointer, and the values stay
        assert told.is_visible()
        page.wait_for_timeout(50)
    assert scroll_position(page) == scrolled

    address = page.url
    assert "run=" in address
    before = steps_shown(page)
    page.get_by_role("link", name="Logits").click()
    expect(page.get_by_role("button", name="Start both twins")).to_have_count(0)
    page.wait_for_timeout(1000)
    page.get_by_role("link", name="Train").click()
    expect(page.locator(".gap")).to_have_text(re.compile(r"^[+−]\d+\.\d"))
    assert steps_shown(page) > before
    assert re.search(r"run=([\w-]+)", page.url)[1] == re.search(r"run=([\w-]+)", address)[1]

    page.get_by_role("button", name="Stop").click()
    start = time.monotonic()
    expect(page.get_by_text("stopped · reads")).to_have_count(2)
    assert time.monotonic() - start < 10  # a second on an idle machine

    page.get_by_role("button", name="Open in the explorer").first.click()
    expect(page.get_by_test_id("stSidebar")).to_contain_text(re.compile("read by the model your run .*plain"))


def test_another_visitor_sees_the_run_in_the_table_but_has_none_of_their_own(new_page, app_url):
    first, second = new_page(), new_page(width=390)
    open_training(first, app_url)
    first.get_by_role("button", name="Start both twins").click()
    expect(first.locator(".gap")).to_be_visible()
    second.goto(f"{app_url}/train")
    expect(second.get_by_text("All runs on this server")).to_be_visible(timeout=PATIENCE)
    assert second.locator(".gap").count() == 0
    assert second.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first.get_by_role("button", name="Stop").click()
    expect(first.get_by_text("stopped").first).to_be_visible()
