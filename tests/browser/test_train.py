"""Training as a visitor sees it: points arrive, the pointer reads them, a page switch disturbs nothing."""

import re

from playwright.sync_api import expect

from tests.support.browser import PATIENCE


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
    chart.hover()
    return chart.locator(".tip")


def test_start_watch_switch_pages_stop_and_open_in_the_explorer(page, app_url):
    open_training(page, app_url)
    page.get_by_role("button", name="Start both twins").click()
    expect(page.locator(".pw-gap")).to_have_text(re.compile(r"^[+−]\d+\.\d"), timeout=PATIENCE)
    expect(page.get_by_text("Who pays?")).to_be_visible()

    told = hover(page, "train_accuracy")
    for name in ("without flips · training", "without flips · validation", "with flips · validation"):
        expect(told).to_contain_text(name)
    expect(told).to_contain_text(re.compile(r"\d+\.\d %"))
    rate = hover(page, "train_learning_rate")
    expect(rate).to_contain_text(re.compile(r"without flips\s*0\.00\d+"))
    told = hover(page, "train_accuracy")
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
    page.get_by_role("link", name="Train").click()
    expect(page.locator(".pw-gap")).to_have_text(re.compile(r"^[+−]\d+\.\d"))
    expect(page.get_by_text(re.compile(r"^Step [\d,]+"))).not_to_have_text(
        re.compile(rf"^Step {before:,},"), timeout=PATIENCE)
    assert steps_shown(page) > before
    assert re.search(r"run=([\w-]+)", page.url)[1] == re.search(r"run=([\w-]+)", address)[1]

    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("stopped · reads")).to_have_count(2)

    page.get_by_role("button", name="Open in the explorer").first.click()
    expect(page.get_by_test_id("stSidebar")).to_contain_text(re.compile("read by the model run .*plain"))


def test_the_page_shows_what_is_after_each_pause_and_each_resume(page, app_url):
    open_training(page, app_url)
    page.get_by_text("Tiny", exact=True).click()
    page.get_by_role("button", name="Start both twins").click()
    runs_that_pause = page.get_by_text(re.compile("· paused"))
    pause, resume = (page.get_by_role("button", name=name, exact=True) for name in ("Pause", "Resume"))
    for _ in range(2):
        expect(page.get_by_text(re.compile("· training"))).to_have_count(2, timeout=PATIENCE)
        pause.click()
        expect(runs_that_pause).to_have_count(2, timeout=PATIENCE)
        expect(pause).to_be_disabled()
        before = steps_shown(page)
        resume.click()
        expect(runs_that_pause).to_have_count(0)
        expect(pause).to_be_enabled()
        expect(page.get_by_text(re.compile(r"^Step [\d,]+"))).not_to_have_text(
            re.compile(rf"^Step {before:,},"), timeout=PATIENCE)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("· stopped"))).to_have_count(2)


def test_another_visitor_sees_the_run_in_the_table_but_has_none_of_their_own(new_page, app_url):
    first, second = new_page(), new_page(width=390)
    open_training(first, app_url)
    first.get_by_role("button", name="Start both twins").click()
    expect(first.locator(".pw-gap")).to_be_visible()
    second.goto(f"{app_url}/train")
    expect(second.get_by_text("All runs on this server")).to_be_visible(timeout=PATIENCE)
    assert second.locator(".pw-gap").count() == 0
    assert second.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first.get_by_role("button", name="Stop").click()
    expect(first.get_by_text("stopped").first).to_be_visible()
