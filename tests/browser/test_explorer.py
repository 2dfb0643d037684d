"""Drawing and walking through the app as a visitor does."""

import base64
import io
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.support.browser import PATH, SEVEN, Connection, click_cell, draw, drawn_code, place, put_down, settled
from tests.support.runs import wait_for
from tests.support.visitor import serve
from vit import checkpoints, drawing
from vit.interventions import HeadsOff, MaskPatches, PositionsOff
from vit.numbers import plain
from vit.trace import trace_image


@pytest.fixture(scope="module")
def model():
    return checkpoints.load("explorer")


def traced(page, model):
    return trace_image(model, drawing.from_code(drawn_code(page)).image())


def open_with_a_seven(page, app_url):
    page.goto(app_url)
    draw(page, SEVEN)
    drawn_code(page)  # the answer is there before, while the pen is down
    settled(page)


def test_a_drawn_digit_is_read_as_the_model_reads_it(page, app_url, model):
    open_with_a_seven(page, app_url)
    trace = traced(page, model)
    expect(page.locator("[data-testid=answer]")).to_have_text(str(trace.prediction))
    expect(page.get_by_text(f"{trace.probabilities.max():.1%}").first).to_be_visible()


def test_a_stroke_in_the_upper_right_corner_is_ink_too(page, app_url):
    page.goto(app_url)
    draw(page, [(320, 8), (250, 20), (200, 120)])
    assert drawing.from_code(drawn_code(page)).strokes[0][0][0] > 300


def test_a_stroke_begun_while_the_last_is_being_read_is_not_lost(page, app_url):
    page.goto(app_url)
    box = place(page.locator("canvas.upper-canvas"))
    for row in range(4):
        page.mouse.move(box["x"] + 80, box["y"] + 80 + 40 * row)
        page.mouse.down()
        page.mouse.move(box["x"] + 140, box["y"] + 80 + 40 * row, steps=5)
        if row:  # the answer to the stroke before arrives in the middle of this one
            expect(page).to_have_url(re.compile(rf"d=p[\w-]+(\.[\w-]+){{{row - 1}}}(&|$)"))
        page.mouse.move(box["x"] + 212, box["y"] + 80 + 40 * row, steps=6)
        page.mouse.up()
    expect(page).to_have_url(re.compile(r"d=p[\w-]+(\.[\w-]+){3}"))
    for row, stroke in enumerate(drawing.from_code(drawn_code(page)).strokes):
        xs, ys = np.array(stroke).T
        assert np.ptp(xs) > 120
        assert np.allclose(ys, 80 + 40 * row, atol=2)


@pytest.mark.parametrize("outside", [(60, 400), (-30, 200), (500, 100)], ids=["over a button", "left", "right"])
def test_a_stroke_that_ends_outside_the_canvas_is_kept_up_to_its_edge(page, app_url, outside):
    page.goto(app_url)
    draw(page, [(150, 150), outside])
    (stroke,) = drawing.from_code(drawn_code(page)).strokes
    first, last = np.array(stroke[0]), np.array(stroke[-1])
    assert np.abs(first - 150).max() <= 1
    assert min(*last, *(drawing.SIDE - last)) <= 1
    along, whole = last - first, np.array(outside) - 150
    assert along @ whole > 0.99 * np.hypot(*along) * np.hypot(*whole)  # in the same direction


def test_a_stroke_drawn_while_the_connection_is_broken_arrives(page, app_url):
    connection = Connection(page)
    page.goto(app_url)
    *points, (x, y) = SEVEN
    put_down(page, points)
    settled(page)
    box = place(page.locator("canvas.upper-canvas"))
    connection.cut()
    expect(page.locator("[data-test-connection-state=CONNECTED]")).to_have_count(0)
    page.mouse.move(box["x"] + x, box["y"] + y, steps=6)
    page.mouse.up()
    connection.mend()
    expect(page.locator("[data-testid=answer]")).to_be_visible()
    (stroke,) = drawing.from_code(drawn_code(page)).strokes
    assert np.abs(np.array(stroke[-1]) - (x, y)).max() <= 2


def test_nothing_is_asked_of_the_server_that_the_visitor_did_not_ask(page, app_url):
    """A run that the page asks for by itself swallows a click on a link that is under way."""
    asked = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: asked.append(frame)))
    page.goto(app_url)
    expect(page.locator("canvas.upper-canvas")).to_be_visible()
    page.wait_for_timeout(1000)
    assert len(asked) == 1


def test_a_picked_digit_lies_on_the_canvas(page, app_url):
    page.goto(f"{app_url}/?d=s3")
    expect(page.locator(".st-key-canvas")).to_have_css("background-image", re.compile("^url"))
    shown = page.locator(".st-key-canvas").evaluate("element => getComputedStyle(element).backgroundImage")
    picture = Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", shown)[1])))
    brightness = np.asarray(picture.convert("L")).astype(float)
    assert np.corrcoef(brightness.ravel(), drawing.from_code("s3").image().ravel())[0, 1] > 0.999


def test_each_new_sheet_keeps_its_paper_and_has_no_toolbar(page, app_url):
    page.goto(app_url)
    samples = page.locator(".frame")
    for digit in range(5):
        box = place(samples)
        samples.click(position={"x": (digit + 0.5) * box["width"] / 7, "y": box["height"] / 4})
        expect(page.locator("[data-testid=answer]")).to_have_text(str(digit))
        settled(page)
        canvas = page.locator(".st-key-canvas")
        expect(canvas.locator(".dc-toolbar")).to_be_hidden()
        canvas.evaluate("it => it.scrollIntoView({ block: 'center' })")  # a click may have put it under the menu
        wait_for(lambda canvas=canvas: looks_like_ink_on_black(canvas.screenshot()))


def looks_like_ink_on_black(screenshot: bytes) -> bool:
    brightness = np.asarray(Image.open(io.BytesIO(screenshot)).convert("L"))
    return brightness[:40, :40].mean() < 30 and brightness.max() > 200


def test_undo_and_clear(page, app_url):
    open_with_a_seven(page, app_url)
    draw(page, [(110, 170), (220, 170)])
    expect(page).to_have_url(re.compile(r"d=p[\w-]+\.[\w-]+"))
    page.get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile(r"\.[\w-]{3}"))
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("[data-testid=answer]")).to_have_count(0)
    expect(page).not_to_have_url(re.compile(r"d=p"))


def test_undo_brings_back_the_digit_that_was_drawn_over(page, app_url):
    page.goto(f"{app_url}/?d=s3")
    draw(page, [(110, 170), (220, 170)])
    expect(page).to_have_url(re.compile(r"d=p[\w-]+"))
    page.get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile(r"d=s3\b"))


def test_one_press_of_the_browser_s_back_button_leads_to_the_page_before(page, app_url):
    page.goto(f"{app_url}/attention?d=s3&layer=3&head=2&token=5")
    page.get_by_role("link", name="Layers").click()
    expect(page.get_by_role("heading", name="What does each block add?")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/layers\?.*token=5"))
    settled(page)
    page.go_back()
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/attention\?.*token=5"))


def test_a_drawing_can_be_continued_after_a_visit_to_another_page(page, app_url):
    open_with_a_seven(page, app_url)
    before = drawn_code(page)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name="What happens inside, all at once?")).to_be_visible()
    page.get_by_role("button", name="Back: Draw").click()
    draw(page, [(110, 170), (220, 170)])
    expect(page).to_have_url(re.compile(re.escape(before) + r"\.[\w-]+"))


def test_a_reload_brings_the_drawing_back(page, app_url):
    open_with_a_seven(page, app_url)
    before, answer = drawn_code(page), page.locator("[data-testid=answer]").inner_text()
    page.reload()
    expect(page.locator("[data-testid=answer]")).to_have_text(answer)
    assert drawn_code(page) == before


@pytest.mark.parametrize("width", [1440, 390])
def test_next_walks_through_all_pages_without_a_scroll_bar_to_the_side(new_page, app_url, width):
    page = new_page(width)
    open_with_a_seven(page, app_url)
    for title in PATH[1:]:
        page.get_by_role("button", name=f"Next: {title}").click()
        expect(page.get_by_role("button", name=re.compile("Back"))).to_be_visible()
        settled(page)
        overflow = page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth")
        assert overflow <= 0, title


def test_the_arrow_keys_walk_too(page, app_url):
    open_with_a_seven(page, app_url)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="What happens inside, all at once?")).to_be_visible()
    settled(page)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", name="What does the model see?")).to_be_visible()


def test_clicking_a_patch_shows_its_numbers(page, app_url, model):
    page.goto(f"{app_url}/patches?d=s0")
    click_cell(page, "your digit, cut into 49 patches", 2, 3, 7, 7)
    expect(page.get_by_role("heading", name="Patch 18: row 3, column 4")).to_be_visible()
    settled(page)
    trace = trace_image(model, drawing.from_code("s0").image())
    shown = page.locator(".st-key-patch_row .words span").all_text_contents()
    assert shown == [plain(value) for value in trace.patches[17]]


def test_clicking_a_map_chooses_its_layer_and_head_everywhere(page, app_url, model):
    page.goto(f"{app_url}/attention?d=s0")
    click_cell(page, "where CLS looks, in every head of every layer", 6, 4, 10, 16)
    expect(page).to_have_url(re.compile(r"layer=7.*head=5|head=5.*layer=7"))
    expect(page.get_by_label("layer, of 10")).to_have_value("7")
    trace = trace_image(model, drawing.from_code("s0").image())
    row = trace.blocks[6].pattern[4, 0]
    best = np.sort(row[1:])[-3:].sum()
    expect(page.get_by_text(f"spends {best:.0%} of CLS's attention")).to_be_visible()


def test_clicking_a_point_of_a_chart_chooses_its_layer_and_head(page, app_url):
    page.goto(f"{app_url}/attention?d=s0")
    page.get_by_role("radio", name="All heads").click()
    point = page.locator(".js-plotly-plot .trace.scatter").first.locator(".point").nth(5 * 16 + 9)
    expect(point).to_be_visible()
    settled(page)
    point.click(force=True)  # Plotly hears it on a rectangle above all points
    expect(page).to_have_url(re.compile(r"layer=6.*head=10|head=10.*layer=6"))
    expect(page.get_by_text("head 10 of layer 6 looks")).to_be_visible()
    settled(page)


def test_the_token_chosen_on_one_page_is_chosen_on_the_next(page, app_url):
    page.goto(f"{app_url}/patches?d=s0")
    click_cell(page, "your digit, cut into 49 patches", 4, 2, 7, 7)
    expect(page.get_by_role("heading", name="Patch 31: row 5, column 3")).to_be_visible()
    page.get_by_role("button", name="Next: Embedding").click()
    expect(page.get_by_text("The 16 numbers of patch 31 are multiplied")).to_be_visible()


def test_hidden_patches_and_silent_heads_change_the_answer_as_in_the_model(page, app_url, model):
    page.goto(f"{app_url}/what_if?d=s0")
    click_cell(page, "your digit; click patches to hide them", 2, 3, 7, 7)
    expect(page.get_by_text("With 1 patch hidden")).to_be_visible()
    click_cell(page, "where CLS looks; click a head to switch it off", 4, 7, 10, 16)
    page.get_by_text("Positions off", exact=True).click()
    probes = MaskPatches((17,)), PositionsOff(), HeadsOff({4: (7,)})
    trace = trace_image(model, drawing.from_code("s0").image(), *probes)
    changed = f"With 1 patch hidden, no positions and 1 head off it reads a {trace.prediction} with "
    expect(page.get_by_text(changed + f"{trace.probabilities.max():.1%}")).to_be_visible()
    page.get_by_role("link", name="Layers").click()
    expect(page.get_by_role("heading", name="What does each block add?")).to_be_visible()
    page.get_by_role("link", name="What if").click()
    expect(page.get_by_text(changed)).to_be_visible()


def test_on_a_phone_the_changed_answer_stands_where_one_clicks(new_page, app_url, model):
    page = new_page(width=390)
    page.goto(f"{app_url}/what_if?d=s0")
    click_cell(page, "where CLS looks; click a head to switch it off", 4, 7, 10, 16)
    trace = trace_image(model, drawing.from_code("s0").image(), HeadsOff({4: (7,)}))
    now = page.locator(".pw-change-now")
    expect(now).to_have_text(f"now {trace.prediction} {trace.probabilities.max():.1%}")
    expect(now).to_be_in_viewport()
    expect(page.get_by_alt_text("where CLS looks; click a head to switch it off")).to_be_in_viewport()
    tip = page.locator(".st-key-missing_heads .tip")
    expect(tip).to_have_text("layer 5, head 8 · off: click to switch on")  # at once, without moving the pointer


def test_a_shared_link_opens_the_same_view_in_another_browser(page, new_page, app_url):
    open_with_a_seven(page, app_url)
    for title in PATH[1 : PATH.index("Attention") + 1]:
        page.get_by_role("button", name=f"Next: {title}").click()
    click_cell(page, "where CLS looks, in every head of every layer", 3, 9, 10, 16)
    expect(page).to_have_url(re.compile("head=10"))
    settled(page)
    page.get_by_role("button", name="Share").click()
    link = page.locator("[role=dialog] [data-testid=stCode] code").first.text_content().strip()
    sentence = page.get_by_text("of CLS's attention").inner_text()

    friend = new_page()
    friend.goto(link)
    expect(friend.get_by_text("of CLS's attention")).to_have_text(sentence)
    assert drawn_code(friend) == drawn_code(page)


def test_the_first_visitor_of_a_server_may_come_by_a_link(page):
    with serve() as url:
        page.goto(f"{url}/patches?d=s0&token=18")
        expect(page.get_by_role("heading", name="Patch 18: row 3, column 4")).to_be_visible()
        expect(page.get_by_alt_text("your digit, 28 by 28 pixels")).to_be_visible()
        settled(page)
        page.goto("about:blank")  # nothing more is asked of the server when it stops


def upload(page, name, content):
    expect(page.locator("canvas.upper-canvas")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Photo").click()
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "image/png", "buffer": content})


def test_a_photo_of_ink_on_paper_is_read(page, app_url):
    ink = np.pad(drawing.from_code("s0").image(), 20).astype(float)  # a 7, large on uneven paper
    paper = np.linspace(200, 240, ink.shape[1]) - 0.7 * ink
    file = io.BytesIO()
    Image.fromarray(paper.astype(np.uint8)).resize((680, 680), Image.Resampling.BICUBIC).save(file, "png")
    page.goto(app_url)
    upload(page, "seven.png", file.getvalue())
    expect(page.locator("[data-testid=answer]")).to_have_text("7")
    assert drawn_code(page).startswith("i")


def test_a_file_that_is_no_picture_gets_a_sentence(page, app_url):
    page.goto(app_url)
    upload(page, "notes.png", b"not a picture at all")
    expect(page.get_by_role("dialog").get_by_test_id("stAlert")).to_be_visible()
    settled(page)
    assert page.locator("[data-testid=answer]").count() == 0


def test_a_finger_draws_and_does_not_scroll_the_page(new_page, app_url):
    page = new_page(390, has_touch=True, is_mobile=True)
    page.goto(app_url)
    box = place(page.locator("canvas.upper-canvas"))
    settled(page)
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    before = page.locator("[data-testid=stMain]").evaluate("e => e.scrollTop")
    touch = page.context.new_cdp_session(page)
    x = box["x"] + 170
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": box["y"] + 280}]})
    for step in range(1, 11):
        point = {"x": x, "y": box["y"] + 280 - 22 * step}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator("[data-testid=answer]")).to_be_visible()
    assert page.locator("[data-testid=stMain]").evaluate("e => e.scrollTop") == before


HOSTILE = [
    "[Sign in again](https://evil.example)", "![x](https://evil.example/p.png)", "https://evil.example",
    "www.evil.example", "somebody@evil.example", "<img src=x>", "$x^2$ :red[x] :material/home: **x**",
]


def test_what_a_link_says_is_shown_as_text(page, app_url):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for words in HOSTILE:
        page.goto(f"{app_url}/?" + urlencode({"model": words}))
        notice = page.locator("[data-testid=stAlert]", has_text="There is no model of the name")
        expect(notice).to_contain_text(re.compile(re.escape(words[:3])))
        settled(page)
        assert words[:30] in notice.inner_text().replace("\u2060", "")
        assert notice.locator("p").locator("*").count() == 0
    assert not [url for url in asked if "evil.example" in url.split("?")[0]]
