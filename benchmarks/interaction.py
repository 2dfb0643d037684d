"""How quickly the app answers a hand, in real Chromium: `python -m benchmarks.interaction`.

Run it on a machine that does nothing else. A stroke counts from pen-up, a click from button-down, to the last change on
the page. The server's own share is measured by running a page's script without a browser.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.testing.v1 import AppTest

from tests.support.visitor import PROJECT, QUIET, find_chromium, serve, settle
from vit import drawing

SCREEN = {"width": 1440, "height": 900}
WATCH = """() => {
  const frame = "[data-testid=stStatusWidget], [data-testid=stHeader]";  // tells that the script runs, shows nothing
  window.watch = new MutationObserver((changes) => {
    if (changes.some(({ target }) => !(target.closest ? target : target.parentElement)?.closest(frame)))
      window.changed = performance.now();
  });
  const look = (root) => {
    watch.observe(root, { childList: true, subtree: true, characterData: true, attributeFilter: ["src"] });
    root.querySelectorAll("*").forEach((e) => e.shadowRoot && look(e.shadowRoot));
  };
  look(document.body);
  window.began = null;
  const begin = () => { window.began ??= window.changed = performance.now(); };
  for (const hand of ["pointerdown", "pointerup"]) addEventListener(hand, begin, { capture: true, once: true });
}"""
WATCHED = "() => { watch.disconnect(); return changed - began; }"
LONG_ENOUGH = 1000  # milliseconds: after that nothing changes any more

ARRIVAL = """(awaited) => {
  const within = (root) => root.querySelector(awaited)
    || [...root.querySelectorAll("*")].some((e) => e.shadowRoot && within(e.shadowRoot));
  const look = () => within(document) ? window.arrived = performance.timeOrigin + performance.now()
    : setTimeout(look, 10);
  look();
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    print("server, per stroke (ink, forward, trace, page):")
    for name in ("draw", "machine", "patches", "embedding", "attention", "layers", "logits"):
        report(name, server_times(name, repeats))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        print("\nuntil the page is there, for the first visitor from the server's start, then for others:")
        with TemporaryDirectory() as folder:
            (Path(folder) / "app.py").write_text("import streamlit\nstreamlit.title('Hello')\n")
            arrivals("Streamlit, one title", browser, Path(folder), "h1")
        arrivals("Patchwise, its canvas", browser, PROJECT, "canvas.upper-canvas")
        with serve() as url:
            print("\nin the browser:")
            idle = interactions(browser, url, repeats)
            start_training(browser, url)
            print("\nwhile two runs train, and how many times as long that takes:")
            for name, times in interactions(browser, url, min(repeats, 8)).items():  # Quick ends after a minute
                print(f"  {name:24} {statistics.median(times) / statistics.median(idle[name]):6.2f}")
        browser.close()


def arrivals(name: str, browser: Browser, folder: Path, awaited: str) -> None:
    """The first visitor's window is open before the server starts."""
    page, began = open_window(browser, awaited), time.time()
    with serve(folder) as url:
        first = arrival(page, url, began)
        others = [arrival(open_window(browser, awaited), url) for _ in range(7)]
    print(f"  {name:24} first {first:.1f} s   others, median {statistics.median(others):.2f} s", flush=True)


def open_window(browser: Browser, awaited: str) -> Page:
    """A window that has never seen the app, and is at rest: Chromium fills its own menus when it opens one."""
    page = browser.new_page(viewport=SCREEN)
    page.add_init_script(f"({ARRIVAL})('{awaited}')")
    page.wait_for_timeout(2000)
    return page


def arrival(page: Page, url: str, began: float | None = None) -> float:
    began = began or time.time()
    page.goto(url, wait_until="commit")
    page.wait_for_function("window.arrived")
    seconds = page.evaluate("window.arrived") / 1000 - began
    page.close()
    return seconds


def interactions(browser: Browser, url: str, repeats: int) -> dict[str, list[float]]:
    page = browser.new_page(viewport=SCREEN)
    page.goto(url)
    settle(page)
    times = {"pen-up to last change": [stroke(page, number) for number in range(repeats + 1)][1:]}
    for name, label in (("attention", "layer"), ("attention", "head"), ("layers", "layer")):
        page.goto(f"{url}/{name}?d=s0")
        settle(page)
        times[f"{label} on {name}"] = [step(page, label, number) for number in range(repeats)]
    page.goto(f"{url}/patches?d=s0")
    settle(page)
    times["patch on patches"] = [click_patch(page, number) for number in range(repeats)]
    page.close()
    for name, milliseconds in times.items():
        report(name, milliseconds)
    return times


def start_training(browser: Browser, url: str) -> None:
    page = browser.new_page(viewport=SCREEN)
    page.goto(f"{url}/train")
    page.get_by_role("button", name="Start both twins").click()
    page.locator(".pw-gap, .gap").wait_for()


def report(name: str, milliseconds: list[float]) -> None:
    worst = sorted(milliseconds)[int(0.9 * (len(milliseconds) - 1))]
    print(f"  {name:24} median {statistics.median(milliseconds):6.0f} ms   90 % {worst:6.0f} ms", flush=True)


def server_times(page: str, repeats: int) -> list[float]:
    visitor = AppTest.from_file(PROJECT / "app.py", default_timeout=60)
    visitor.query_params["d"] = "s1"
    visitor.run()
    if page != "draw":
        visitor.session_state.page = page
        visitor.switch_page(f"pages/{page}.py").run()
    times = []
    for number in range(repeats):
        line = [(90, 80 + number), (240, 80), (160, 270)]
        visitor.session_state.drawing = drawing.from_strokes([line])
        start = time.perf_counter()
        visitor.run()
        times.append(1000 * (time.perf_counter() - start))
    return times


def stroke(page: Page, number: int) -> float:
    box = page.locator("canvas.upper-canvas").bounding_box()
    x, y = box["x"] + 60 + 8 * (number % 20), box["y"] + 60
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 15, y + 200, steps=5)
    return timed(page, page.mouse.up)


def step(page: Page, label: str, number: int) -> float:
    control = page.get_by_test_id("stSidebar").get_by_test_id("stNumberInput").filter(has_text=label)
    button = control.get_by_test_id(f"stNumberInputStep{'Up' if number % 2 == 0 else 'Down'}")
    button.hover()
    return timed(page, page.mouse.down, page.mouse.up)


def click_patch(page: Page, number: int) -> float:
    page.locator(".frame").first.hover(position={"x": 100 + 60 * (number % 3), "y": 200})
    return timed(page, page.mouse.down, page.mouse.up)


def timed(page: Page, *moves: Callable[[], None]) -> float:
    """Milliseconds from the first of these moves to the last change that they cause."""
    page.evaluate(WATCH)
    for move in moves:
        move()
    page.wait_for_timeout(LONG_ENOUGH)
    return page.evaluate(WATCHED)


if __name__ == "__main__":
    main()
