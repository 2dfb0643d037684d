import numpy as np
import pytest

from tests.pages.test_explorer import SEVEN, SMALL, press, words
from vit import drawing
from vit import interventions as what
from vit.charts import patches
from vit.trace import trace_image


@pytest.fixture
def page(shipped, open_app):
    shipped(SMALL)
    return open_app("what_if", d=SEVEN)


def expected(model, *probes):
    trace = trace_image(model, drawing.from_code(SEVEN).image(), *probes)
    return f"it reads a **{trace.prediction}** with {trace.probabilities.max():.1%}"


@pytest.mark.parametrize(("switch", "probe"), [
    ("positions", what.PositionsOff()), ("shuffle", what.ShufflePatches(1)), ("scaling", what.ScalingOff(SMALL)),
    ("causal", what.CausalMask()),
])
def test_each_switch_shows_what_the_model_says_then(shipped, open_app, switch, probe):
    model = shipped(SMALL)
    page = open_app("what_if", d=SEVEN)
    page.toggle(key=f"what_if_{switch}").set_value(True).run()
    assert not page.exception
    assert expected(model, probe) in words(page)


def test_blocks_patches_and_heads_combine(shipped, open_app):
    model = shipped(SMALL)
    page = open_app("what_if", d=SEVEN)
    page.session_state["what_if_patches"] = frozenset({5, 9})
    page.session_state["what_if_heads"] = frozenset({(1, 2)})
    page.button_group(key="what_if_mlp").set_value([3]).run()
    page.button_group(key="what_if_attention").set_value([1]).run()
    assert "2 patches hidden, 1 head off, attention off in 1 block and 1 MLP off" in words(page)
    probes = what.MaskPatches((5, 9)), what.HeadsOff({1: (2,)}), what.AttentionOff((0,)), what.MlpOff((2,))
    assert expected(model, *probes) in words(page)
    press(page, "Put all back")
    assert "Take something away" in words(page)


def test_hiding_the_empty_ones_leaves_hidden_what_was(shipped, open_app):
    shipped(SMALL)
    page = open_app("what_if", d=SEVEN)
    tiles = patches.cut(drawing.from_code(SEVEN).image(), SMALL.patch_size)
    empty = {number for number, tile in enumerate(tiles) if not tile.any()}
    inked = min(set(range(SMALL.patches)) - empty)
    page.session_state["what_if_patches"] = frozenset({inked})
    press(page.run(), "Hide empty ones")
    assert page.session_state["what_if_patches"] == empty | {inked}


def test_hidden_patches_go_with_the_others_when_all_are_shuffled(shipped, open_app):
    model = shipped(SMALL)
    page = open_app("what_if", d=SEVEN)
    page.session_state["what_if_patches"] = frozenset({5})
    page.toggle(key="what_if_shuffle").set_value(True).run()
    shuffle = what.ShufflePatches(1)
    place = shuffle.order(SMALL.patches).tolist().index(5)
    assert expected(model, what.MaskPatches((place,)), shuffle) in words(page)


def test_a_smaller_model_forgets_what_it_does_not_have(page, shipped):
    page.session_state["what_if_patches"] = frozenset({3, 40})
    page.session_state["what_if_heads"] = frozenset({(0, 0), (9, 15)})
    page.session_state["what_if_mlp"] = [2, 10]
    page.run()
    assert not page.exception
    assert "1 patch hidden, 1 head off and 1 MLP off" in words(page)


def test_a_link_brings_back_what_was_taken_away(shipped, open_app):
    shipped(SMALL)
    off = "positions,causal,patch4,patch10,head1.2,attention3,mlp2"
    visitor = open_app("what_if", d=SEVEN, off=off)
    assert not visitor.exception
    heads, blocks = "1 head off, attention off in 1 block", "1 MLP off"
    assert f"2 patches hidden, no positions, {heads}, {blocks} and GPT's mask" in words(visitor)


def test_the_address_tells_what_is_taken_away(shipped, open_app):
    shipped(SMALL)
    visitor = open_app(d=SEVEN, off="mlp2,patch4")
    assert not visitor.warning
    assert visitor.query_params["off"] == "patch4,mlp2"
    assert "off" not in open_app(d=SEVEN, off="").query_params


@pytest.mark.parametrize("off", ["", "patch0", "patch99999", "head1", "mlp2,mlp2,<b>", "positions;"])
def test_a_link_that_takes_away_nonsense_is_answered_politely(shipped, open_app, off):
    shipped(SMALL)
    assert "does not exist. The rest is as it asks." in words(open_app(d=SEVEN, off=off))
    visitor = open_app("what_if", d=SEVEN, off=off)
    assert not visitor.exception
    assert ("1 MLP off" in words(visitor)) == ("mlp" in off)


def test_without_positions_the_order_does_not_matter(shipped):
    model, image = shipped(SMALL), drawing.from_code(SEVEN).image()
    heap, shuffled = (trace_image(model, image, what.PositionsOff(), *more) for more in ((), (what.ShufflePatches(1),)))
    assert np.allclose(heap.logits, shuffled.logits, atol=1e-5)
