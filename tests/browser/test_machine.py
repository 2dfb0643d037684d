"""The whole machine in one picture: read, unfolded, played, and walked through by keys."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.support.browser import place, settled
from tests.support.models import make_lively
from tests.support.runs import wait_for
from tests.support.visitor import serve
from vit import checkpoints, drawing, explain
from vit.config import ViTConfig
from vit.numbers import column, number, plain
from vit.trace import trace_image

TITLE = "What happens inside, all at once?"
OTHER = ViTConfig(patch_size=7, width=24, depth=2, heads=3)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server on which a model of another shape is a run's."""
    run = tmp_path_factory.mktemp("runs") / "other"
    (run / "checkpoints").mkdir(parents=True)
    (run / "config.json").write_text("{}")
    checkpoints.save(make_lively(OTHER), run / "checkpoints" / "epoch-0001.safetensors")
    with serve(runs=run.parent) as address:
        yield address


@pytest.fixture(scope="module")
def models():
    return {"": checkpoints.load("explorer"), "run:other/epoch-0001": make_lively(OTHER)}


def open_machine(page, url, model="", **more):
    parameters = {"d": "s3", "model": model, **more}
    page.goto(f"{url}/machine?" + "&".join(f"{name}={value}" for name, value in parameters.items() if value != ""))
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    expect(page.locator(".house").first).to_be_visible()
    settled(page)


def traced(model):
    return trace_image(model, drawing.from_code("s3").image())


def long(vector) -> str:
    return number(np.linalg.norm(np.asarray(vector, float)))


def told_at(page, stripe, share: float) -> str:
    """What is told where the pointer stands over a stripe, which may still be on its way to its place."""
    box = place(stripe)
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return page.locator(".told .value").text_content()


def open_by_key(page, part):
    page.locator(f"[data-focus={part}]").focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("which", ["", "run:other/epoch-0001"])
@pytest.mark.parametrize("token", [0, 6])
def test_the_numbers_at_first_glance_are_those_of_the_trace(page, url, models, which, token):
    model = models[which]
    trace, lens = traced(model), explain.logit_lens(traced(model), model).probabilities
    open_machine(page, url, which, token=token or "")
    assert page.locator("[data-focus=logits] small").all_text_contents() == [plain(x) for x in trace.logits]
    assert page.locator("[data-focus=probabilities] small").all_text_contents() == [
        f"{share:.1%}" for share in trace.probabilities]
    assert page.locator(".house .foot").all_text_contents() == [
        f"{row.argmax()}{np.float32(row.max()):.0%}" for row in lens[1:]]
    words = dict(page.locator("[data-words]").evaluate_all("all => all.map((e) => [e.dataset.words, e.textContent])"))
    for layer, block in enumerate(trace.blocks):
        told = words[f"block-{layer + 1}"]
        assert (f"{long(block.resid_pre[token])} long before, attention {long(block.attn_out[token])}, MLP "
                f"{long(block.mlp_out[token])}, {long(block.resid_post[token])} after") in told
        for head in range(model.config.heads):
            row = block.pattern[head, token]
            most = int(row.argmax())
            who = f"patch {most}" if most else "CLS"
            assert f"looks most at {who}, with {row[most]:.1%}" in words[f"head-{layer + 1}-{head + 1}"]


@pytest.mark.parametrize("which", ["", "run:other/epoch-0001"])
def test_an_opened_block_and_its_numbers_are_those_of_the_trace(page, url, models, which):
    model = models[which]
    block, weights = traced(model).blocks[1], model.blocks[1]
    open_machine(page, url, which)
    open_by_key(page, "block-2")
    vectors = {"z": block.resid_pre, "ln1": block.ln1, "msa": block.attn_out, "mid": block.resid_mid,
               "ln2": block.ln2, "mlp": block.mlp_out, "out": block.resid_post}
    for name, values in vectors.items():
        expect(page.locator(f"[data-focus={name}] small")).to_have_text(re.compile(rf"^{long(values[0])} long"))
    cell = model.config.width // 2
    told = f"{long(block.ln1[0])} long; number {cell + 1}: {number(block.ln1[0, cell])}"
    wait_for(lambda: told_at(page, page.locator("[data-focus=ln1] canvas"), (cell + 0.5) / model.config.width) == told)

    open_by_key(page, "msa")
    largest = int(np.abs(block.attn_out[0]).argmax())
    row = weights.attention.out_proj.weight[largest].detach().numpy().astype(float)
    unfolded = explain.dot_product(block.heads[:, 0].ravel(), row, weights.attention.out_proj.bias[largest].item(),
                                   total=block.attn_out[0, largest])
    assert page.locator(".number-view .big").text_content() == number(block.attn_out[0, largest])
    shown = page.locator(".terms td:last-child").all_text_contents()
    expected = column([*(term.product for term in unfolded.terms), unfolded.rest_sum, unfolded.bias, unfolded.total])
    np.testing.assert_allclose(as_numbers(shown), as_numbers(expected), atol=1.01 * last_digit(expected[-1]))
    assert f"{unfolded.rest_count} others" in page.locator(".terms").text_content()


def as_numbers(texts) -> list[float]:
    return [float(text.replace("−", "-")) for text in texts]


def last_digit(text) -> float:
    return 10.0 ** -len(text.partition(".")[2])


@pytest.mark.parametrize("which", ["", "run:other/epoch-0001"])
def test_an_opened_head_is_that_of_the_trace(page, url, models, which):
    model = models[which]
    block, head = traced(model).blocks[1], 2
    open_machine(page, url, which)
    open_by_key(page, "block-2")
    open_by_key(page, f"head-2-{head + 1}")
    looked = np.argsort(-block.pattern[head, 0], kind="stable")[:8]
    rows = page.locator("button.looked-row")
    expect(rows).to_have_count(8)
    for row, token in zip(rows.all(), looked, strict=True):
        assert row.locator(".figure").text_content() == number(block.scores[head, 0, token])
        assert row.locator("small").text_content() == f"{block.pattern[head, 0, token]:.1%}"
    rows.nth(3).click()
    product = explain.dot_product(block.q[head, 0], block.k[head, looked[3]])
    assert number(product.terms[0].a) in page.locator(".pair .terms").text_content()
    assert number(block.scores[head, 0, looked[3]]) in page.locator(".pair").text_content()
    page.keyboard.press("Escape")
    expect(page.locator(".block-view")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".inside")).to_be_hidden()


def test_pointing_unfolding_and_playing_ask_nothing_of_the_server(page, url):
    asked = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: asked.append(frame)))
    open_machine(page, url)
    before = len(asked)
    page.locator("[data-focus=block-6]").hover()
    expect(page.locator(".told b")).to_contain_text("6")
    expect(page.locator("[data-focus=block-5]")).to_have_class(re.compile("from"))
    for part in ("block-1", "q"):  # the block that is chosen already
        open_by_key(page, part)
    expect(page.locator(".number-view")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".caption")).to_contain_text("falls into 49 patches")
    page.keyboard.press("Escape")
    assert len(asked) == before


def test_a_click_chooses_for_all_pages_and_look_closer_leads_there(page, url):
    open_machine(page, url)
    heads = page.locator("[data-focus=block-3] canvas.heads")
    columns, rows = (int(heads.get_attribute(f"data-{side}")) for side in ("columns", "rows"))
    box = place(heads)
    at = {"x": 0.5 * box["width"] / columns, "y": 2.5 * box["height"] / rows}
    heads.click(position=at)
    expect(page.locator(".head-view")).to_be_visible()
    head = 2 * columns + 1
    expect(page).to_have_url(re.compile(rf"layer=3&head={head}\b"))
    settled(page)
    expect(page.locator(".head-view")).to_be_visible()  # the run that followed leaves open what is open
    page.get_by_role("button", name="Look closer").click()
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    expect(page.get_by_text(f"Head {head} of layer 3 spends")).to_be_visible()


def test_a_click_on_a_patch_chooses_its_token(page, url, models):
    open_machine(page, url)
    patches = page.locator("canvas[data-part=patches]")
    box = place(patches)
    patches.click(position={"x": 3.5 * box["width"] / 7, "y": 2.5 * box["height"] / 7})
    expect(page).to_have_url(re.compile(r"token=18\b"))
    last = traced(models[""]).blocks[-1].resid_post[18]
    expect(page.locator(".told .value")).to_contain_text("patch 18: row 3, column 4")
    expect(page.get_by_role("button", name="Look closer: Patches")).to_be_visible()
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    expect(page.locator(".told .value")).to_contain_text(f"leaves the last {long(last)} long")
    settled(page)
    page.locator("[data-focus=patches]").focus()
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile(r"token=19\b"))
    expect(page.locator("[data-focus=patches]")).to_be_focused()
    page.get_by_role("button", name="choose CLS").click()
    expect(page).not_to_have_url(re.compile("token="))


def test_every_station_has_a_caption_of_at_most_twelve_words(page, url, models):
    trace = traced(models[""])
    open_machine(page, url)
    page.locator(".machine").focus()
    captions = []
    for _ in range(int(page.locator(".place").get_attribute("max"))):
        page.keyboard.press("ArrowRight")
        captions.append(page.locator(".caption").text_content())
    assert len(set(captions)) == len(captions) == 9 + 9
    assert all(0 < len(caption.split()) <= 12 for caption in captions), captions
    assert captions[-1].endswith(f"{trace.prediction}, with {trace.probabilities.max():.1%}.")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".caption")).to_have_text(captions[-2])
    page.keyboard.press("Escape")
    expect(page.locator(".unlit")).to_have_count(0)


def test_play_moves_and_pause_holds(page, url):
    open_machine(page, url)
    slider = page.locator(".place")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".unlit").first).to_be_attached()
    expect(page.locator(".caption")).to_contain_text("falls into")
    page.get_by_role("button", name="Pause").click()
    held = slider.input_value()
    page.evaluate("() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))")
    assert slider.input_value() == held
    page.get_by_role("button", name="Speed").click()
    expect(page.get_by_role("button", name="Speed")).to_have_text("2×")
    slider.fill("17.5")
    page.get_by_role("button", name="Play").click()
    expect(slider).to_have_value("18")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_with_reduced_motion_it_goes_from_station_to_station(new_page, url):
    page = new_page(reduced_motion="reduce")
    open_machine(page, url)
    page.get_by_role("button", name="Play").click()
    for words, station in (("pixels", "1"), ("falls into", "2")):
        expect(page.locator(".caption")).to_contain_text(words)
        assert page.locator(".place").input_value() == station
    page.get_by_role("button", name="Pause").click()


def test_the_arrow_keys_are_the_machine_s_while_it_has_the_focus(page, url):
    open_machine(page, url)
    page.locator(".machine").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".caption")).to_contain_text("pixels")
    open_by_key(page, "block-1")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".way [aria-current]")).to_have_text("Block 2")
    settled(page)
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    page.get_by_role("heading", name=TITLE).click()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="How does a picture become words?")).to_be_visible()


def test_on_a_phone_it_runs_from_top_to_bottom(new_page, url):
    page = new_page(width=390)
    open_machine(page, url)
    tops = [page.locator(f"[data-focus={part}]").bounding_box()["y"]
            for part in ("digit", "embedded", "tokens", "block-1", "block-10", "norm", "logits")]
    assert tops == sorted(set(tops))
    assert page.locator(".floor").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    page.locator("[data-focus=block-2]").click()
    expect(page.locator(".block-view")).to_be_visible()
    assert page.locator(".stage").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
