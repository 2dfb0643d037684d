import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import PATH, turn_to
from vit import checkpoints, drawing, runs
from vit.config import PRESETS, TrainConfig, ViTConfig
from vit.interventions import MaskPatches, PositionsOff
from vit.runs import work
from vit.trace import trace_image

SMALL = ViTConfig(patch_size=7, width=32, depth=3, heads=4)
SEVEN, CAT = "s0", "fcat.53.0.213"


def shown_to(config: ViTConfig) -> str:
    """A digit, or a photo to a model that reads colours."""
    return SEVEN if config.channels == 1 else CAT


def words(visitor) -> str:
    """All that stands on the page, as one text."""
    kinds = ("title", "markdown", "caption", "warning", "info", "latex")
    text = "\n".join(element.value for kind in kinds for element in getattr(visitor, kind))
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("\u2060", "")  # what was escaped is read as it was


@pytest.mark.parametrize("page", [*PATH, "what_if"])
@pytest.mark.parametrize("preset", ["article", "tiny", "quick", "cifar", "base"])
def test_every_page_shows_a_drawing_in_every_model(shipped, open_app, page, preset):
    shipped(PRESETS[preset])
    visitor = open_app(page, d=shown_to(PRESETS[preset]), layer="2", head="2", token="3")
    assert not visitor.exception
    assert not visitor.warning


@pytest.mark.parametrize("page", [*PATH, "what_if"])
def test_without_a_drawing_every_page_invites(shipped, open_app, page):
    shipped(SMALL)
    visitor = open_app(page)
    assert not visitor.exception
    assert "Draw a digit from 0 to 9" in words(visitor)


def test_the_page_names_what_the_model_says(shipped, open_app):
    model = shipped(SMALL)
    expected = trace_image(model, drawing.from_code(SEVEN).image())
    assert f"It reads a **{expected.prediction}**" in words(open_app(d=SEVEN))


@pytest.mark.parametrize("panel", [
    "One pair", "q, k and v", "Heads to z′", "Whole pattern", "Heads that matter", "What counts", "All heads",
    "Why √d_k", "GPT's mask",
])
@pytest.mark.parametrize("config", [SMALL, PRESETS["cifar"]])
def test_every_panel_about_attention_opens(shipped, open_app, panel, config):
    shipped(config)
    visitor = open_app("attention", d=shown_to(config), layer="2", head="2", token="3")
    visitor.button_group(key="attention_panel").set_value(panel).run()
    assert not visitor.exception


@pytest.mark.parametrize(("page", "control", "panel"), [
    *(("embedding", "closer", panel)
      for panel in ("Filters", "As a Conv2d", "CLS and positions", "Position maps", "z₀")),
    *(("layers", "closer_layers", panel)
      for panel in ("MLP", "LayerNorm", "All tokens", "Tokens alike", "Path of CLS")),
])
@pytest.mark.parametrize("config", [SMALL, PRESETS["cifar"]])
def test_every_closer_look_opens(shipped, open_app, page, control, panel, config):
    shipped(config)
    visitor = open_app(page, d=shown_to(config), layer="2", token="3")
    visitor.button_group(key=control).set_value(panel).run()
    assert not visitor.exception


def test_the_number_chosen_in_a_block_is_followed_through_its_layer_norm(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("layers", d=SEVEN, layer="2", token="3")
    visitor.button_group(key="closer_layers").set_value("LayerNorm").run()
    visitor.number_input(key="number_widget").set_value(9).run()
    assert "Number 9 is chosen" in words(visitor)
    assert "number 9</th>" in "".join(html.proto.body for html in visitor.get("html"))


def test_what_a_patch_counts_is_measured_by_hiding_it(shipped, open_app):
    model, image = shipped(SMALL), drawing.from_code(SEVEN).image()
    visitor = open_app("attention", d=SEVEN)
    visitor.button_group(key="attention_panel").set_value("What counts").run()
    assert not visitor.exception
    whole = trace_image(model, image)
    left = [trace_image(model, image, MaskPatches((patch,))).probabilities[whole.prediction] for patch in range(16)]
    told = f"Without **patch {np.argmin(left) + 1}** the {whole.prediction} goes from {whole.probabilities.max():.1%} "
    assert told + f"to {min(left):.1%}." in words(visitor)


def press(visitor, label):
    next(button for button in visitor.button if button.label == label).click().run()


def open_about(model_id):
    return words(AppTest.from_string(f"from vit.ui import about\nabout.show({model_id!r})", default_timeout=60).run())


def test_each_model_tells_how_it_came_to_be(tmp_path, monkeypatch):
    details = checkpoints.details(checkpoints.SHIPPED["explorer"])
    assert "1,992,970 weights" in open_about("explorer")
    assert f"**{details.test_accuracy:.2%}** of the 10,000 test images" in open_about("explorer")
    assert "66.1% lie in the MLPs and 33.1% in attention" in open_about("explorer")
    assert "it most often takes a 9 for a 4 (6 times), a 6 for a 5 (4 times)" in open_about("explorer")
    assert "it has learned nothing" in open_about("untrained")
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    config = TrainConfig(model=SMALL, train_images=32, batch_size=16, epochs=1, validation_images=100, flips=True)
    folder = runs.create(config)
    work.Worker(folder).work()
    assert "after epoch 1 on MNIST, half of the images mirrored" in open_about(f"run:{folder.name}/epoch-0001")


def test_the_answer_without_positions_is_measured(shipped, open_app):
    model, image = shipped(SMALL), drawing.from_code(SEVEN).image()
    lost = trace_image(model, image, PositionsOff())
    visitor = open_app("embedding", d=SEVEN)
    assert "in no order" not in words(visitor)
    visitor.pills(key="quiz_positions").set_value("yes").run()
    same = lost.prediction == trace_image(model, image).prediction
    assert ("**Right: yes.**" if same else "**Not quite: no.**") in words(visitor)
    assert f"{lost.probabilities.max():.1%}" in words(visitor)


def test_numbers_on_the_attention_page_are_those_of_the_trace(shipped, open_app):
    model = shipped(SMALL)
    trace = trace_image(model, drawing.from_code(SEVEN).image())
    visitor = open_app("attention", d=SEVEN, layer="2", head="3", token="5")
    row = trace.blocks[1].pattern[2, 5]
    best = np.sort(row[1:])[-3:].sum()
    assert f"Head 3 of layer 2 spends **{best:.0%}**" in words(visitor)
    key = int(row.argmax())
    assert f"= {trace.blocks[1].scores[2, 5, key]:.3f}" in words(visitor)
    assert f"= {row[key]:.4f}" in words(visitor)


def test_numbers_on_the_embedding_page_are_those_of_the_trace(shipped, open_app):
    model = shipped(SMALL)
    trace = trace_image(model, drawing.from_code(SEVEN).image())
    visitor = open_app("embedding", d=SEVEN, token="6")
    assert f"= {trace.patch_embeddings[5, 0]:.4f}" in words(visitor)


def test_the_sidebar_s_selectors_move_the_page(shipped, open_app):
    shipped(SMALL)
    visitor = open_app(d=SEVEN)
    visitor.session_state.page = "attention"
    visitor.session_state.chosen_layer = 2
    turn_to(visitor, "attention")
    assert "of layer 3" in words(visitor)


def test_a_model_of_clothes_tells_what_its_numbers_mean(shipped, open_app):
    model = shipped(SMALL, dataset="fashion-mnist")
    image = drawing.from_code(SEVEN).image()
    assert trace_image(model, image).prediction != drawing.from_code(SEVEN).label
    visitor = open_app(d=SEVEN)
    assert "Fashion-MNIST, so its answers are: T-shirt, trousers" in words(visitor)
    assert "its writer meant" not in "".join(html.proto.body for html in visitor.get("html"))
    shipped(SMALL)
    visitor = open_app(d=SEVEN)
    assert "so its answers are" not in words(visitor)
    assert "its writer meant" in "".join(html.proto.body for html in visitor.get("html"))


def test_an_output_of_the_embedding_and_a_unit_of_the_mlp_are_chosen_apart(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("layers", d=SEVEN)
    visitor.number_input(key="unit_widget").set_value(20).run()
    turn_to(visitor, "embedding")
    assert visitor.number_input(key="output_widget").value == 1


def test_the_last_picture_of_the_drawing_has_the_grid_of_the_model(shipped, open_app):
    for config in (SMALL, ViTConfig(patch_size=14, width=32, depth=1, heads=4)):
        shipped(config)
        page = "".join(html.proto.body for html in open_app(d=SEVEN).get("html"))
        assert f"--grid: {config.grid}\"" in page


def test_a_choice_beyond_a_smaller_model_falls_back_into_its_range(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, layer="10", head="16", token="49")
    assert not visitor.exception
    assert "Head 4 of layer 3" in words(visitor)


@pytest.mark.parametrize("parameters", [
    {"d": "p<script>alert(1)</script>"}, {"d": "i" + "A" * 5000}, {"layer": "x"}, {"head": "-1"}, {"token": "9" * 50},
    {"d": SEVEN, "model": "run:../../etc/passwd"}, {"d": SEVEN, "model": "nonsense"}, {"d": SEVEN, "model": "run:"},
    {"model": "nonsense"}, {"d": SEVEN, "model": "nonsense", "hide": "sidebar"},
])
def test_a_broken_link_gets_a_sentence_and_the_default_state(shipped, open_app, parameters):
    shipped(SMALL)
    visitor = open_app(**parameters)
    assert not visitor.exception
    assert len(visitor.warning) == 1
    assert visitor.session_state.model == "explorer"


@pytest.mark.parametrize(("part", "trace_of_it"), [
    ("try", "Try:"), ("quiz", "Predict:"), ("stepper", "3 of 10"), ("maths", r"N = \frac"),
])
def test_a_teacher_can_hide_parts(shipped, open_app, part, trace_of_it):
    def everything(visitor):
        return words(visitor) + " ".join(element.label for element in visitor.pills)

    shipped(SMALL)
    assert trace_of_it in everything(open_app("patches", d=SEVEN))
    assert trace_of_it not in everything(open_app("patches", d=SEVEN, hide=f"{part},nonsense"))


def test_the_sidebar_can_be_hidden(shipped, open_app):
    shipped(SMALL)
    assert len(open_app(d=SEVEN).sidebar) > 0
    assert len(open_app(d=SEVEN, hide="sidebar").sidebar) == 0


def test_the_address_tells_the_choices(shipped, open_app):
    shipped(SMALL)
    visitor = open_app(d=SEVEN, layer="2", token="4")
    assert visitor.query_params["d"] == SEVEN
    assert visitor.query_params["layer"] == "2"
    assert visitor.query_params["token"] == "4"
    assert "head" not in visitor.query_params


def test_the_page_does_not_tell_what_a_question_asks(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN)
    visitor.button_group(key="attention_panel").set_value("Why √d_k").run()
    assert "bits" not in words(visitor)
    visitor.pills(key="quiz_scaling_0_0").set_value("flatter").run()
    assert "of entropy instead of" in words(visitor)


def test_a_question_answers_only_after_a_guess(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("patches", d=SEVEN)
    assert "times the scores" not in words(visitor)
    visitor.pills(key="quiz_patches").set_value("2 times").run()
    assert "Not quite" in words(visitor)
    assert "times the scores" in words(visitor)
