"""A visitor's photo, on all pages and in a link that somebody else opens."""

import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.support.browser import drawn_code, settled
from tests.support.models import make_lively
from tests.support.visitor import serve
from vit import checkpoints, drawing
from vit.config import ViTConfig
from vit.datasets import DATASETS
from vit.drawing import colour
from vit.trace import trace_image

COLOUR = ViTConfig(image_size=32, patch_size=8, channels=3, width=32, depth=3, heads=4)
PAGES = ("Draw", "Machine", "Patches", "Embedding", "Attention", "Layers", "Logits", "What if")


@pytest.fixture
def photo_app(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_MODELS", str(tmp_path))
    monkeypatch.setenv("PATCHWISE_READER", "0")
    checkpoints.save(make_lively(COLOUR), tmp_path / "photos.safetensors", {"dataset": "cifar10"})
    with serve() as url:
        yield url, checkpoints.load(tmp_path / "photos.safetensors")


def test_an_uploaded_photo_walks_all_pages_and_its_link_brings_it_to_somebody_else(photo_app, new_page):
    url, model = photo_app
    page = new_page()
    page.goto(f"{url}/?model=own:photos")
    page.get_by_role("button", name="Another photo").click()
    page.locator("[role=dialog] input[type=file]").set_input_files(colour.FOLDER / "rocket.jpg")
    expect(page).to_have_url(re.compile(r"[?&]d=c[\w-]{500,}"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    seen = drawing.from_code(drawn_code(page)).image()
    photo = colour.sample("rocket")
    assert np.array_equal(seen, colour.scaled(colour.cut_out(photo, colour.in_the_middle(photo)), 32))
    trace = trace_image(model, seen)
    answer, share = DATASETS["cifar10"].classes[trace.prediction], f"{trace.probabilities.max():.1%}"
    expect(page.get_by_test_id("answer")).to_have_text(answer)
    for before, title in pairwise(PAGES):
        page.get_by_role("button", name=f"Next: {title}").click()
        expect(page.get_by_role("button", name=f"Back: {before}")).to_be_visible()
        expect(page.locator(".pw-answer-card")).to_contain_text(answer)
        expect(page.locator(".pw-answer-card")).to_contain_text(share)
        settled(page)
    other = new_page()
    other.goto(page.url)
    expect(other.get_by_text(f"reads your picture as {answer} with {share}")).to_be_visible()
    settled(other)
