"""The steps between the pictures: from z to q, from the heads to z', which head matters, and how sure is sure."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.pages.test_explorer import SEVEN, SMALL, words
from vit import calibration, checkpoints, drawing
from vit.config import PRESETS
from vit.interventions import HeadsOff
from vit.trace import trace_image

ATTENTION_PANELS = ["q, k and v", "Heads to z′", "Heads that matter"]


def html_of(visitor):
    return "".join(html.proto.body for html in visitor.get("html"))


def opened(visitor, panel, key="attention_panel"):
    visitor.button_group(key=key).set_value(panel).run()
    assert not visitor.exception
    return visitor


@pytest.mark.parametrize(("kind", "token"), [("q", 3), ("k", 5), ("v", 5)])
def test_one_number_of_a_query_key_or_value_is_unfolded(shipped, open_app, kind, token):
    trace = trace_image(shipped(SMALL), drawing.from_code(SEVEN).image())
    visitor = open_app("attention", d=SEVEN, layer="2", head="3", token="3")
    visitor.session_state.chosen_key = 5
    opened(visitor, "q, k and v")
    visitor.button_group(key="projected_kind").set_value(kind).run()
    visitor.number_input(key="component_widget").set_value(4).run()
    assert not visitor.exception
    value = getattr(trace.blocks[1], kind)[2, token, 3]
    told = re.search(rf"<b>{kind}, number 4 = (.+?)</b>", html_of(visitor))[1]
    assert float(told.replace("−", "-")) == pytest.approx(value, abs=6e-4)
    assert r"d_k = \frac{D}{h} = \frac{32}{4} = 8" in words(visitor)


def test_the_way_from_the_heads_ends_in_the_stream(shipped, open_app):
    trace = trace_image(shipped(SMALL), drawing.from_code(SEVEN).image())
    visitor = opened(open_app("attention", d=SEVEN, layer="2", token="3"), "Heads to z′")
    visitor.number_input(key="number_widget").set_value(12).run()
    block = trace.blocks[1]
    before, added, after = (values[3, 11] for values in (block.resid_pre, block.attn_out, block.resid_mid))
    bracketed = f"({before:.3f})" if before < 0 else f"{before:.3f}"
    assert rf"{added:.3f} + {bracketed} = {after:.3f}" in words(visitor)
    assert "MSA, number 12 = " in html_of(visitor)


@pytest.mark.parametrize("page", ["attention", "what_if"])
def test_the_single_head_that_hurts_most_is_named(shipped, open_app, page):
    model, image = shipped(SMALL), drawing.from_code(SEVEN).image()
    whole = trace_image(model, image)
    left = {(block, head): trace_image(model, image, HeadsOff({block: (head,)})).probabilities[whole.prediction]
            for block, head in np.ndindex(SMALL.depth, SMALL.heads)}
    block, head = min(left, key=left.get)
    visitor = open_app(page, d=SEVEN)
    if page == "attention":
        opened(visitor, "Heads that matter")
    assert (f"**Head {head + 1} of layer {block + 1}** matters most: switched off alone, it takes the "
            f"{whole.prediction} from {whole.probabilities.max():.1%} to {left[block, head]:.1%}") in words(visitor)


def test_a_large_model_is_measured_only_when_asked(shipped, open_app):
    shipped(PRESETS["base"])
    visitor = open_app("what_if", d=SEVEN)
    assert "takes a while" in words(visitor)
    assert [button.label for button in visitor.button if button.label == "Measure it"]


def test_the_changed_answer_stands_in_one_line(shipped, open_app):
    model = shipped(SMALL)
    image = drawing.from_code(SEVEN).image()
    whole, less = trace_image(model, image), trace_image(model, image, HeadsOff({0: (1,)}))
    told = html_of(open_app("what_if", d=SEVEN, off="head1.2"))
    assert f"now <b>{less.prediction}</b> {less.probabilities.max():.1%}" in told
    assert f"as it is <b>{whole.prediction}</b> {whole.probabilities.max():.1%}" in told
    assert "nothing is taken away yet" in html_of(open_app("what_if", d=SEVEN))


def test_the_page_tells_how_often_the_model_is_right_when_it_is_as_sure(shipped, open_app):
    trace = trace_image(shipped(SMALL), drawing.from_code(SEVEN).image())

    def asked():
        visitor = open_app("logits", d=SEVEN)
        visitor.session_state.how_sure = True
        visitor.run()
        assert not visitor.exception
        return visitor

    assert "has not been measured" in words(asked())
    sure = float(trace.probabilities.max())
    low = int(sure * 20) / 20
    recorded = calibration.Calibration("50 images", 50, 40, 0.05, (calibration.Bin(low, low + 0.05, 50, 40),))
    calibration.write(recorded, checkpoints.SHIPPED["explorer"])
    told = words(asked())
    assert "reads **80.00%** of 50 images" in told
    assert "as here, it read **80.0%** right" in told


def test_the_block_that_contributes_most_is_named(shipped, open_app):
    shipped(SMALL)
    assert "contributes most" in words(open_app("logits", d=SEVEN))
    layers = words(open_app("layers", d=SEVEN)) + words(open_app("layers", d=SEVEN, layer="2"))
    assert "adds the most to it" in layers
    assert "looks hardest" in words(open_app("attention", d=SEVEN))


@pytest.mark.parametrize("variant", ["post-norm", "no-residuals"])
def test_where_the_stream_is_no_sum_the_pages_say_so(shipped, open_app, variant):
    shipped(replace(SMALL, variant=variant))
    logits, layers = open_app("logits", d=SEVEN), open_app("layers", d=SEVEN)
    assert not logits.exception
    assert not layers.exception
    assert "cannot be shared out here" in words(logits)
    assert "contributes most" not in words(logits)
    assert "This model is not the paper's" in words(layers)
    assert "(2)" not in words(layers)


@pytest.mark.parametrize("variant", ["post-norm", "no-residuals", "mean-pooling", "causal-last"])
@pytest.mark.parametrize("panel", ATTENTION_PANELS)
def test_the_steps_open_in_variants(shipped, open_app, variant, panel):
    shipped(replace(SMALL, variant=variant))
    opened(open_app("attention", d=SEVEN, layer="2", token="3"), panel)


def test_each_equation_of_the_paper_stands_there_once(shipped, open_app):
    shipped(SMALL)
    embedding = opened(open_app("embedding", d=SEVEN), "CLS and positions", "closer")
    layers = open_app("layers", d=SEVEN)
    pages = {1: embedding, 2: layers, 3: layers, 4: open_app("logits", d=SEVEN)}
    for equation, page in pages.items():
        assert words(page).count(rf"({equation})\quad") == 1
    assert any(r"\mathbf{x}_p\,\mathbf{E} + \mathbf{b}" in latex.value for latex in embedding.latex)
    assert "learned, and the same for every picture" in words(embedding)
