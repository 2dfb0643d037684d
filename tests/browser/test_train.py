"""Training as a visitor sees it: points arrive, the pointer reads them, a page switch disturbs nothing."""

import csv
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tests.support.visitor import serve
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import work

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
    for _ in range(4):
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


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with small twins that have ended, their name, and a fresh server that has them."""
    folder = tmp_path_factory.mktemp("runs")
    config = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=100, epochs=1,
                         batch_size=50, report_every=1, validation_images=100)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATCHWISE_RUNS", str(folder))
        pair = runs.create_twins(config, "quick")
        for run in runs.pair(pair):
            assert work.Worker(run.folder).work() == 0
    with serve(runs=folder) as url:
        yield folder, pair, url


def test_the_first_visit_of_a_fresh_server_shows_the_run_of_its_link_and_each_download_is_whole(page, finished):
    folder, pair, url = finished
    page.goto(f"{url}/train?run={pair}")
    expect(page.get_by_text(re.compile("· done"))).to_have_count(2, timeout=PATIENCE)
    expect(page).to_have_url(re.compile(f"run={pair}"))

    def downloaded(name):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).first.click()
        return download.value.path()

    with downloaded("metrics.csv").open() as file:
        assert [row["kind"] for row in csv.DictReader(file)] == ["validation", "train", "train", "validation"]
    assert zipfile.ZipFile(downloaded("TensorBoard")).testzip() is None
    weights = (folder / f"{pair}-plain" / "checkpoints" / "epoch-0001.safetensors").read_bytes()
    assert downloaded("epoch-0001.safetensors").read_bytes() == weights

    page.get_by_role("button", name="Share").click()
    expect(page.get_by_test_id("stDialog")).to_contain_text(f"run={pair}")


def test_repeated_with_other_seeds_the_dots_come_by_themselves(page, finished):
    _, pair, url = finished
    page.goto(f"{url}/train?run={pair}")
    expect(page.get_by_text("One pair is no sample")).to_be_visible(timeout=PATIENCE)
    dots = page.locator(".st-key-luck_dots .scatterlayer .point")
    expect(dots).to_have_count(3, timeout=PATIENCE)  # two runs and their difference
    page.locator(".st-key-luck_seeds").get_by_text("2", exact=True).click()
    page.get_by_role("button", name="Repeat with 2 other seeds").click()
    expect(page.get_by_role("button", name="Stop repeating")).to_be_visible()
    expect(page.get_by_text(re.compile("^Over 3 seeds"))).to_be_visible(timeout=PATIENCE)
    expect(dots).to_have_count(6 + 3 + 1)  # with the mean


def test_only_the_browser_that_started_a_run_can_stop_it_also_after_a_reload(new_page, monkeypatch):
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    ours, theirs = new_page(), new_page()
    stop = ours.get_by_role("button", name="Stop", exact=True)
    with serve() as url:
        open_training(ours, url)
        ours.get_by_text("Tiny", exact=True).click()
        expect(ours.get_by_text("The ViT of the scratch tutorial")).to_be_visible(timeout=PATIENCE)
        ours.get_by_role("button", name="Start both twins").click()
        expect(ours).to_have_url(re.compile("run="))
        expect(stop).to_be_enabled(timeout=PATIENCE)
        theirs.goto(ours.url)
        expect(theirs.get_by_text("Another visitor started this.")).to_be_visible(timeout=PATIENCE)
        expect(theirs.get_by_role("button", name="Stop", exact=True)).to_be_disabled()
        ours.reload()
        expect(stop).to_be_enabled(timeout=PATIENCE)
        stop.click()
        expect(ours.get_by_text(re.compile("· stopped"))).to_have_count(2, timeout=PATIENCE)
        ours.goto("about:blank")  # before the server goes
        theirs.goto("about:blank")
