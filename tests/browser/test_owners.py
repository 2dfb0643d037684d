"""Two browsers and one run: which of them controls it."""

import re

from playwright.sync_api import expect

from tests.browser.test_train import open_training
from tests.support.browser import PATIENCE
from tests.support.visitor import serve


def test_only_the_browser_that_started_a_run_can_stop_it_also_after_a_reload(new_page, monkeypatch):
    monkeypatch.setenv("PATCHWISE_TEACHER_KEY", "chalk")
    ours, theirs = new_page(), new_page()
    stop = ours.get_by_role("button", name="Stop", exact=True)
    with serve() as url:
        open_training(ours, url)
        ours.get_by_text("Tiny", exact=True).click()
        expect(ours.get_by_text("The ViT of the scratch tutorial")).to_be_visible()
        ours.get_by_role("button", name="Start both twins").click()
        expect(ours).to_have_url(re.compile("run="))
        expect(stop).to_be_enabled(timeout=PATIENCE)
        theirs.goto(ours.url)
        expect(theirs.get_by_text("Another visitor started this.")).to_be_visible()
        expect(theirs.get_by_role("button", name="Stop", exact=True)).to_be_disabled()
        ours.reload()
        expect(stop).to_be_enabled(timeout=PATIENCE)
        stop.click()
        expect(ours.get_by_text(re.compile("· stopped"))).to_have_count(2, timeout=PATIENCE)
        for page in (ours, theirs):
            page.goto("about:blank")  # before the server goes
