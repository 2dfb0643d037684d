"""How quickly Claims and one claim open, in real Chromium: `python -m benchmarks.claims`.

Run it on a machine that does nothing else. A claim is open when its title and, where it has runs, its dots can be seen;
counted from button-down. In a new window Plotly is fetched while the list is read, so the first claim is told apart.
"""

import argparse
import statistics

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.interaction import SCREEN, report, timed
from tests.support.visitor import QUIET, find_chromium, serve, settle
from vit.studies import shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.study import Study

READING = 3000  # milliseconds that a visitor looks at the list before the first click
WATCH = """([title, dots]) => {
  const seen = (selector) => [...document.querySelectorAll(selector)].some((e) => e.getClientRects().length);
  window.opened = null;
  addEventListener("pointerdown", () => {
    const began = performance.now();
    const look = () => {
      const titled = document.querySelector("h1")?.textContent === title;
      if (titled && (!dots || seen(".js-plotly-plot .points path"))) window.opened = performance.now() - began;
      else requestAnimationFrame(look);
    };
    look();
  }, { capture: true, once: true });
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with_runs = [study.id for study in CATALOGUE.values() if isinstance(study, Study) and shelf.result_of(study).result]
    others = [name for name in CATALOGUE if name not in with_runs]
    with serve() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        first = [new_window(browser, url, with_runs[0]) for _ in range(repeats)]
        page = browser.new_page(viewport=SCREEN)
        page.goto(f"{url}/claims")
        settle(page)
        page.wait_for_timeout(READING)
        dots = {name: [open_claim(page, name) for _ in range(repeats)] for name in with_runs}
        words = [open_claim(page, name) for name in others]
        report("Claims, from Train", [open_list(page) for _ in range(repeats)])
        report("first claim, with dots", first)
        for name, times in dots.items():
            report(name, times)
        report("claims without runs", words)
        everything = [*(time for times in dots.values() for time in times), *words]
        print(f"  all later ones: median {statistics.median(everything):.0f} ms")
        browser.close()


def new_window(browser: Browser, url: str, name: str) -> float:
    page = browser.new_page(viewport=SCREEN)
    page.goto(f"{url}/claims")
    settle(page)
    page.wait_for_timeout(READING)
    milliseconds = open_claim(page, name)
    page.close()
    return milliseconds


def open_claim(page: Page, name: str) -> float:
    """Milliseconds until it can be read; then back to the list."""
    study = CATALOGUE[name]
    page.locator(".pw-claims a").nth(list(CATALOGUE).index(name)).hover()
    page.evaluate(WATCH, [study.title, isinstance(study, Study) and shelf.result_of(study).result is not None])
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function("window.opened !== null")
    settle(page)
    milliseconds = page.evaluate("window.opened")
    page.get_by_role("button", name="All claims").click()
    page.locator(".pw-claims a").first.wait_for()
    settle(page)
    return milliseconds


def open_list(page: Page) -> float:
    page.get_by_role("link", name="Train", exact=True).first.click()
    settle(page)
    page.get_by_role("link", name="Claims", exact=True).first.hover()
    milliseconds = timed(page, page.mouse.down, page.mouse.up)
    settle(page)
    return milliseconds


if __name__ == "__main__":
    main()
