"""What a link says is what a visitor sees, and what the address says is what the visitor has chosen."""

import numpy as np
import pytest

from tests.pages.test_explorer import SEVEN, SMALL, words
from vit import drawing
from vit.interventions import MaskPatches
from vit.trace import trace_image
from vit.ui import state


def test_a_link_opens_the_panel_the_pair_and_the_scale(shipped, open_app):
    model = shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, layer="2", head="3", token="5", at="7", panel="whole-pattern",
                       scale="shared")
    assert visitor.button_group(key="attention_panel").value == "Whole pattern"
    assert visitor.toggle(key="shared_scale").value
    assert not visitor.warning
    visitor.button_group(key="attention_panel").set_value("One pair").run()
    weight = trace_image(model, drawing.from_code(SEVEN).image()).blocks[1].pattern[2, 5, 7]
    assert visitor.selectbox(key="key_widget").value == 7
    assert f"= {weight:.4f}" in words(visitor)


def test_the_address_tells_the_panel_the_pair_and_the_scale(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN)
    assert {"panel", "at", "scale"}.isdisjoint(visitor.query_params)
    visitor.button_group(key="attention_panel").set_value("Whole pattern").run()
    visitor.toggle(key="shared_scale").set_value(True).run()
    assert visitor.query_params["panel"] == "whole-pattern"
    assert visitor.query_params["scale"] == "shared"
    visitor.button_group(key="attention_panel").set_value("One pair").run()
    visitor.selectbox(key="key_widget").set_value(0).run()
    assert "panel" not in visitor.query_params
    assert visitor.query_params["at"] == "0"


@pytest.mark.parametrize(("page", "parameter", "control"), [
    ("embedding", "output", "output_widget"), ("layers", "number", "number_widget"),
])
def test_a_number_that_was_chosen_travels_in_the_link(shipped, open_app, page, parameter, control):
    shipped(SMALL)
    visitor = open_app(page, d=SEVEN, **{parameter: "9"})
    assert visitor.number_input(key=control).value == 9
    visitor.number_input(key=control).set_value(12).run()
    assert visitor.query_params[parameter] == "12"


def test_the_class_looked_into_travels_with_its_drawing(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("logits", **{"d": SEVEN, "class": "0"})
    assert visitor.button_group(key="class_widget").value == 0
    assert visitor.query_params["class"] == "0"
    visitor.session_state.drawing = drawing.from_code("s1")
    visitor.run()
    assert "class" not in visitor.query_params


@pytest.mark.parametrize(("page", "asked", "told"), [
    ("attention", {"layer": "40"}, "layer 40, and this model has them up to 3. You see layer 3."),
    ("attention", {"head": "5"}, "head 5, and this model has them up to 4. You see head 4."),
    ("attention", {"token": "17"}, "token 17, and this model has them up to 16. You see token 16."),
    ("attention", {"at": "17"}, "at 17, and this model has them up to 16. You see what the page chooses by itself."),
    ("embedding", {"output": "33"}, "output 33, and this model has them up to 32. You see output 32."),
    ("logits", {"class": "10"}, "class 10, and this model has them up to 9."),
    ("attention", {"layer": "0"}, "a layer that does not exist"),
    ("attention", {"panel": "nonsense"}, "a panel that this page does not have"),
    ("attention", {"scale": "large"}, "a scale that does not exist"),
    ("attention", {"hide": "everything"}, "hides something that cannot be hidden"),
    ("what_if", {"off": "patch17,head1.9,mlp4,positions"}, "patch 17, head 9 of layer 1 and block 4, which this model"),
])  # fmt: skip
def test_what_is_out_of_range_is_said(shipped, open_app, page, asked, told):
    shipped(SMALL)
    visitor = open_app(page, d=SEVEN, **asked)
    assert not visitor.exception
    assert told in words(visitor)
    assert len(visitor.warning) == 1
    assert not visitor.run().warning  # once


def test_a_smaller_model_that_the_visitor_chooses_is_no_fault_of_a_link(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, layer="3")
    visitor.session_state.chosen_layer = 9
    visitor.run()
    assert not visitor.warning
    assert visitor.query_params["layer"] == "3"


def go_back(visitor, monkeypatch, **address):
    """As the browser's Back does: an older address, and a word that it comes from the history."""
    visitor.query_params.clear()
    for name, value in address.items():
        visitor.query_params[name] = value
    monkeypatch.setattr(state, "came_by_history", lambda: True)
    visitor.run()
    monkeypatch.undo()
    return visitor


def test_back_brings_back_what_was_chosen(shipped, open_app, monkeypatch):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, layer="2")
    visitor.number_input(key="layer_widget").set_value(3).run()
    visitor.button_group(key="attention_panel").set_value("All heads").run()
    with monkeypatch.context() as patch:
        go_back(visitor, patch, d=SEVEN, layer="3")
    assert visitor.button_group(key="attention_panel").value == "One pair"
    assert visitor.number_input(key="layer_widget").value == 3
    with monkeypatch.context() as patch:
        go_back(visitor, patch, d=SEVEN, layer="2")
    assert "of layer 2 spends" in words(visitor)


def test_an_address_that_this_visitor_never_had_takes_nothing_away(shipped, open_app, monkeypatch):
    """The menu leads to pages without their parameters, and that address stands in the history too."""
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, layer="2")
    with monkeypatch.context() as patch:
        go_back(visitor, patch)
    assert visitor.query_params["d"] == SEVEN
    assert "of layer 2 spends" in words(visitor)


def test_a_click_that_comes_before_the_last_address_has_arrived_is_not_lost(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN)
    visitor.number_input(key="layer_widget").set_value(2).run()
    visitor.query_params.clear()
    visitor.query_params["d"] = SEVEN
    visitor.number_input(key="head_widget").set_value(3).run()
    assert "Head 3 of layer 2 spends" in words(visitor)


def test_the_sidebar_tells_the_changed_answer(shipped, open_app):
    model = shipped(SMALL)
    bare = "".join(html.proto.body for html in open_app("layers", d=SEVEN).sidebar.get("html"))
    assert "with your changes" not in bare
    card = "".join(html.proto.body for html in open_app("layers", d=SEVEN, off="patch6,patch10").sidebar.get("html"))
    changed = trace_image(model, drawing.from_code(SEVEN).image(), MaskPatches((5, 9)))
    assert f"with your changes: <b>{changed.prediction}</b> {np.max(changed.probabilities):.1%}" in card
