"""Twins that have ended: a link to them, what can be downloaded, and the same again with other seeds."""

import csv
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE
from tests.support.visitor import serve
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import work


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
