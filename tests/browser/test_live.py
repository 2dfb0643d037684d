"""While the pen is down: the bars move, the drawing stays what it was, and a busy server is left alone."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import SEVEN, drawn_code, place, put_down, settled
from vit.ui import markup

LINE = [(110, 170), (200, 175), (300, 300)]
SHOWN = """() => JSON.stringify([...document.querySelectorAll(".pw-answer, .pw-comment, .pw-bar, .pw-steps img")]
  .map((element) => element.src ?? element.textContent))"""
WITHOUT_COMPANION = """
  window.Blob = class extends Blob {  // of which Streamlit makes a component's script
    constructor([code, ...others], options) {
      const ours = String(code).includes("patchwise_live");
      super(ours ? ["export default () => {}"] : [code, ...others], options);
      window.missing ||= ours;
    }
  }"""


@pytest.fixture
def as_ever(new_page, app_url):
    """A seven and a line through it, drawn without the companion: the code of each, and all that was shown then."""
    page = new_page()
    page.add_init_script(WITHOUT_COMPANION)
    page.goto(app_url)
    codes, pictures = [], []
    for stroke in (SEVEN, LINE):
        put_down(page, stroke)
        before = page.url
        page.mouse.up()
        expect(page).not_to_have_url(before)
        settled(page)
        codes.append(drawn_code(page))
        pictures.append(page.evaluate(SHOWN))
    assert page.evaluate("window.missing")
    page.close()
    return codes, pictures


def test_bars_and_pictures_follow_the_pen_to_what_is_kept_without_them_too(page, app_url, as_ever):
    codes, pictures = as_ever
    page.goto(app_url)
    for stroke, code, picture in zip((SEVEN, LINE), codes, pictures, strict=True):
        before = page.url
        put_down(page, stroke)
        page.wait_for_function(f"expected => ({SHOWN})() === expected", arg=picture)
        assert page.url == before
        page.mouse.up()
        expect(page).to_have_url(re.compile(f"d={re.escape(code)}$"))
        settled(page)
        assert page.evaluate(SHOWN) == picture
    page.get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile(f"d={codes[0]}$"))
    settled(page)
    assert page.evaluate(SHOWN) == pictures[0]

    page.goto(f"{app_url}/?d=s3")  # the first stroke takes the place of a picked digit
    put_down(page, SEVEN)
    page.wait_for_function(f"expected => ({SHOWN})() === expected", arg=pictures[0])


SLOW_TO_SEND = """  // what Streamlit waits for with a timer of 0 ms
  const setTimer = window.setTimeout;
  window.setTimeout = (call, wait, ...others) => setTimer(call, wait === 0 ? 100 : wait, ...others);"""
QUICK_STROKE = """(canvas) => {
  const { left, top } = canvas.getBoundingClientRect();
  const pen = (type, buttons, x) => canvas.dispatchEvent(
    new MouseEvent(type, { bubbles: true, composed: true, buttons, clientX: left + x, clientY: top + 100 }));
  pen("mousedown", 1, 100);
  pen("mousemove", 1, 200);
  pen("mouseup", 0, 200);
}"""


def test_a_stroke_told_together_with_the_pens_last_move_reaches_the_whole_page(page, app_url):
    page.add_init_script(SLOW_TO_SEND)
    page.goto(app_url)
    canvas = page.locator("canvas.upper-canvas")
    place(canvas)
    canvas.evaluate(QUICK_STROKE)
    expect(page).to_have_url(re.compile(r"d=p[\w-]+$"))
    expect(page.get_by_alt_text("your digit, 28 by 28 pixels")).to_be_visible()


PACE = """async (code) => {
  let now = 0, flying = null, sent = [], timers = [];
  performance.now = () => now;
  window.setTimeout = (call, wait) => timers.push({ call, at: now + wait });
  document.body.innerHTML = '<canvas class="upper-canvas" width="336" height="336"></canvas>';
  const [canvas] = document.body.children;
  const { default: companion } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const tell = (seen) => companion({ data: [seen], setTriggerValue: (_, { number, points }) => {
    if (flying) throw new Error("two at a time");
    flying = { number, since: now };
    sent.push(points.length);
  } });
  const pen = (type, buttons, x) => canvas.dispatchEvent(
    new MouseEvent(type, { bubbles: true, composed: true, buttons, clientX: x % 300, clientY: x % 310 }));
  tell(null);
  window.drawFor = (milliseconds, trip) => {
    sent = [];
    pen("mousedown", 1, now);
    for (const end = now + milliseconds; now < end; now += 1) {
      if (flying && now - flying.since >= trip) { const { number } = flying; flying = null; tell(number); }
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { call } of due) call();
      if (now % 8 === 0) pen("mousemove", 1, now);
    }
    pen("mouseup", 0, now);
    return sent;
  };
}"""


def test_messages_come_one_at_a_time_and_the_slower_the_answers_the_fewer(page):
    page.evaluate(PACE, markup.text("live.js"))

    def sent(seconds, trip):
        return page.evaluate("([time, trip]) => drawFor(time, trip)", [1000 * seconds, trip])

    for trip in (30, 50, 75):  # as quick as a quiet server
        points = sent(3, trip)
        assert len(points) >= 3 * 12
        assert points == sorted(set(points))  # each with more points of the same stroke
    slower = [len(sent(20, trip)) for trip in (100, 150, 200, 300)]
    assert slower == sorted(slower, reverse=True)
    assert 40 > slower[1] > slower[-1] > 0
    sent(3, 500)
    assert sent(2, 500) == []  # none any more
    assert len(sent(10, 30)) >= 5 * 12  # and again, once it has rested
