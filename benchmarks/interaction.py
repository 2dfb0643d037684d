"""How quickly the app answers a hand, in real Chromium: `python -m benchmarks.interaction`.

Run it on a machine that does nothing else. A stroke counts from pen-up to the last change on the page; 200 ms of that
the canvas waits by itself. The server's own share is measured by running a page's script without a browser.
"""

import argparse
import statistics
import time

from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from benchmarks.visitor import PROJECT, QUIET, find_chromium, serve, settle
from vit import drawing

LAST_CHANGE = """(quiet) => new Promise((done) => {
  const start = performance.now(); let last = start;
  const frame = "[data-testid=stStatusWidget], [data-testid=stHeader]";  // tells that the script runs, shows nothing
  const watch = new MutationObserver((changes) => {
    if (changes.some(({ target }) => !(target.closest ? target : target.parentElement)?.closest(frame)))
      last = performance.now();
  });
  const look = (root) => {
    watch.observe(root, { childList: true, subtree: true, characterData: true, attributeFilter: ["src"] });
    root.querySelectorAll("*").forEach((e) => e.shadowRoot && look(e.shadowRoot));
  };
  look(document.body);
  const wait = () => performance.now() - Math.max(last, start + 300) > quiet
    ? (watch.disconnect(), done(last - start)) : setTimeout(wait, 20);
  wait();
})"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    print("server, per stroke (ink, forward, trace, page):")
    for page in ("draw", "patches", "embedding", "attention", "layers", "logits"):
        report(page, server_times(page, repeats))
    began = time.perf_counter()
    with serve() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        print("\nfrom the server's start, and for the next visitor, until the canvas is there:")
        for _ in range(2):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(url)
            page.wait_for_selector("canvas.upper-canvas")
            print(f"  {time.perf_counter() - began:.1f} s")
            page.close()
            began = time.perf_counter()
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        settle(page)
        print("\nin the browser:")
        report("pen-up to last change", [stroke(page, number) for number in range(repeats)])
        for name, label in (("attention", "layer"), ("attention", "head"), ("layers", "layer")):
            page.goto(f"{url}/{name}?d=s0")
            settle(page)
            report(f"{label} on {name}", [step(page, label, number) for number in range(min(repeats, 8))])
        browser.close()


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
    page.mouse.up()
    return page.evaluate(LAST_CHANGE, 600)


def step(page: Page, label: str, number: int) -> float:
    control = page.get_by_test_id("stSidebar").get_by_test_id("stNumberInput").filter(has_text=label)
    control.get_by_test_id(f"stNumberInputStep{'Up' if number % 2 == 0 else 'Down'}").click()
    return page.evaluate(LAST_CHANGE, 600)


if __name__ == "__main__":
    main()
