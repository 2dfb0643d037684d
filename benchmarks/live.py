"""How soon, and how often, the answer follows the pen while it is down: `python -m benchmarks.live`.

In real Chromium: alone, while ten others draw (in Streamlit's own protocol, without a browser), and while two runs
train. Run it on a machine that does nothing else. Pen to bars counts from the last point of the pen that a message
holds to the change of the bars that answers it.
"""

import argparse
import asyncio
import math
import multiprocessing
import re
import time
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.interaction import SCREEN, report, start_training
from benchmarks.session import Session
from tests.support.visitor import PROJECT, QUIET, find_chromium, serve, settle

OTHERS = 10
EVERY = 2.0  # seconds between two strokes of another visitor
OTHERS_STROKE = 0.6  # seconds
STROKE = 3.0  # of the pen in the browser
COMPANION = (PROJECT / "vit" / "ui" / "frontend" / "live.js").read_text(encoding="utf-8")
MOVES = 80  # of the pen in a second
WATCH = """() => {
  let pen = 0, sent = null;
  window.times = [];
  addEventListener("mousemove", () => { pen = performance.now(); }, { capture: true });
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (message) { sent = pen; send.call(this, message); };
  new MutationObserver((changes) => {
    const bars = changes.some(({ addedNodes, target }) => target.closest?.(".pw-bars")
      || [...addedNodes].some((node) => node.matches?.(".pw-bars") || node.querySelector?.(".pw-bars")));
    if (!bars || sent === null) return;
    times.push(performance.now() - sent);
    sent = null;
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strokes", type=int, default=10)
    strokes = parser.parse_args().strokes
    with sync_playwright() as playwright, serve() as url:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        follow(browser, url, 1)  # the server has read something, and torch is there
        tell("alone", *follow(browser, url, strokes))
        with others_drawing(url):
            tell(f"while {OTHERS} others draw", *follow(browser, url, strokes))
        start_training(browser, url)
        tell("while two runs train", *follow(browser, url, strokes))
        browser.close()


def tell(name: str, times: list[float], seconds: float) -> None:
    if not times:
        print(f"  {name:24} no update in {seconds:.0f} s", flush=True)
        return
    report(name, times)
    print(f"  {'':24} {len(times) / seconds:.1f} updates a second", flush=True)


def follow(browser: Browser, url: str, strokes: int) -> tuple[list[float], float]:
    """Milliseconds from pen to bars, of each update, and for how many seconds the pen was down."""
    page = browser.new_page(viewport=SCREEN)
    page.goto(url)
    settle(page)
    page.evaluate(WATCH)
    times: list[float] = []
    seconds = 0.0
    for _ in range(strokes):
        page.evaluate("times.length = 0")
        seconds += draw_eights(page)
        times += page.evaluate("times")
        page.mouse.up()
        settle(page)
        page.get_by_role("button", name="Clear").click()
        settle(page)
    page.close()
    return times, seconds


def draw_eights(page: Page) -> float:
    """One after the other without lifting the pen, at an even pace."""
    box = page.locator("canvas.upper-canvas").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    began = time.perf_counter()
    for move in range(1, int(STROKE * MOVES)):
        angle = 2 * math.pi * move / MOVES
        page.mouse.move(x + 70 * math.sin(2 * angle), y + 110 * math.sin(angle))
        time.sleep(max(0.0, began + move / MOVES - time.perf_counter()))
    return time.perf_counter() - began


@contextmanager
def others_drawing(url: str):
    process = multiprocessing.get_context("spawn").Process(target=_draw_as_others, args=(url,), daemon=True)
    process.start()
    time.sleep(2 * EVERY)
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _draw_as_others(url: str) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(draw_as_another(url, number) for number in range(OTHERS)))

    asyncio.run(all_of_them())


async def draw_as_another(url: str, number: int) -> None:
    """A stroke every two seconds, told while it is drawn, at the pace of our companion of the canvas."""
    pace = {name: int(value) / 1000 for name, value in re.findall(r"const (OFTEN|QUICK) = (\d+);", COMPANION)}
    rest = int(re.findall(r"const REST = (\d+);", COMPANION)[0])
    await asyncio.sleep(number * EVERY / OTHERS)
    session = await Session.open(url)
    line = [(90.0 + 5 * move, 80.0 + 6 * move + number) for move in range(30)]
    due = time.perf_counter()
    while True:
        while (share := (time.perf_counter() - due) / OTHERS_STROKE) < 1:
            trip = await session.tell(line[: 2 + int(share * len(line))])
            await asyncio.sleep(max(0.0, pace["OFTEN"] - trip, (trip - pace["QUICK"]) * rest))
        await session.draw([line])
        await session.press("Clear")
        due = max(due + EVERY, time.perf_counter())
        await asyncio.sleep(due - time.perf_counter())


if __name__ == "__main__":
    main()
