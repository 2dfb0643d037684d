"""Photos for models that read colours: on every page, in links, beside drawings that wait for their model."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.pages.conftest import PATH, turn_to
from tests.pages.test_explorer import CAT, SEVEN, SMALL, words
from vit import checkpoints, drawing
from vit.datasets import DATASETS
from vit.details import Details, Preparation
from vit.drawing import colour
from vit.trace import trace_image
from vit.ui import models, state
from vit.ui.panels import photo

COLOUR = replace(SMALL, image_size=32, patch_size=8, channels=3)
LARGE = replace(COLOUR, image_size=64, patch_size=16, classes=30)
NAMES = DATASETS["cifar10"].classes
OF_DIGITS = re.compile(r"\b(digits?|ink|drawings?|stroke)\b", re.IGNORECASE)


@pytest.fixture
def colour_models(lively, tmp_path, monkeypatch):
    """A small one that has learned CIFAR-10, and a larger one from elsewhere with names that list synonyms."""
    folder = tmp_path / "models"
    monkeypatch.setenv("PATCHWISE_MODELS", str(folder))
    checkpoints.save(lively(COLOUR), folder / "photos.safetensors", {"dataset": "cifar10"})
    elsewhere = Details(origin="timm", classes=tuple(f"thing {n // 2}, also {n}" for n in range(30)),
                        preparation=Preparation(80, 64, (0.5,) * 3, (0.5,) * 3))
    checkpoints.save(lively(LARGE, seed=1), folder / "large.safetensors", elsewhere.as_json())
    yield folder
    models.forget()


@pytest.fixture
def open_photo(colour_models, open_app):
    return lambda page="draw", model="own:photos", **parameters: open_app(page, model=model, **parameters)


def traced(folder, name, code):
    model = checkpoints.load(folder / f"{name}.safetensors")
    return trace_image(model, drawing.for_model(drawing.from_code(code).image(), model.config, "bicubic"))


def as_file(picture: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def upload(open_photo, monkeypatch):
    """A visitor who chooses a file. The dialog's content stands on the page, where AppTest finds it."""

    def until_there_is_one() -> None:
        if not state.drawing().code.startswith("c"):
            photo.choose_photo.__wrapped__()

    monkeypatch.setattr(photo, "another", until_there_is_one)
    return lambda content: open_photo().file_uploader[0].set_value(("photo.png", content, "image/png")).run()


NOISE = np.random.default_rng(3).integers(0, 256, (90, 120, 3), np.uint8)


@pytest.mark.parametrize("model", ["own:photos", "own:large"])
@pytest.mark.parametrize("page", [*PATH, "what_if"])
def test_every_page_speaks_of_a_picture_and_calls_classes_by_their_names(page, model, open_photo, colour_models):
    visitor = open_photo(page, model)
    assert not visitor.exception
    assert not visitor.warning
    told = words(visitor).replace("a last digit may be one off", "")
    assert OF_DIGITS.findall(told) == []
    if model == "own:photos":
        answer = NAMES[traced(colour_models, "photos", visitor.query_params["d"]).prediction]
        assert page in ("patches", "embedding", "attention", "layers") or f"**{answer}**" in told
        card = next(html.proto.body for html in visitor.get("html") if "pw-answer-card" in html.proto.body)
        assert answer in card


def test_a_model_for_photos_starts_with_one_of_ours(open_photo):
    visitor = open_photo()
    assert visitor.query_params["d"] == "fcat.53.0.213"
    assert open_photo(model="own:large").query_params["d"] == "fcat.75.21.170"  # its makers show it 64 of 80 pixels


def test_a_drawing_and_a_photo_wait_for_their_models(shipped, open_photo):
    shipped(SMALL)
    visitor = open_photo(model="explorer", d=SEVEN)
    visitor.session_state.model = "own:photos"
    visitor.run()
    visitor.session_state.drawing = drawing.from_code("frocket.1.2.99")
    visitor.run()
    assert visitor.query_params["d"] == "frocket.1.2.99"
    visitor.session_state.model = "explorer"
    assert visitor.run().query_params["d"] == SEVEN
    visitor.session_state.model = "own:large"
    assert visitor.run().query_params["d"] == "frocket.1.2.99"
    assert not visitor.exception


def test_without_a_drawing_the_photo_can_be_found_again(shipped, open_photo):
    shipped(SMALL)
    visitor = open_photo("patches")
    visitor.session_state.model = "explorer"
    visitor.run()
    assert "Nothing to look at yet" in words(visitor)
    pills = next(group for group in visitor.get("button_group") if group.label == "model")
    pills.set_value("own:photos").run()
    assert visitor.query_params["d"] == "fcat.53.0.213"


def test_an_uploaded_photo_is_read_from_the_pixels_that_its_link_holds(upload, open_photo, colour_models):
    visitor = upload(as_file(NOISE))
    assert not visitor.exception
    code = visitor.query_params["d"]
    square = colour.scaled(colour.cut_out(NOISE, colour.in_the_middle(NOISE)), 32)
    assert np.array_equal(drawing.from_code(code).image(), square)
    assert "number for number" in words(visitor)
    expected = traced(colour_models, "photos", code)
    other = open_photo("logits", d=code)
    for told in (words(turn_to(visitor, "logits")), words(other)):
        assert f"**{NAMES[expected.prediction]}** with {expected.probabilities.max():.1%}" in told
    assert "A picture from a link" in words(turn_to(other, "draw"))


def test_the_square_can_be_sized_and_is_cut_anew_for_another_model(upload):
    visitor = upload(as_file(NOISE))
    visitor.slider(key="crop_size").set_value(40).run()
    middle = NOISE[25:65, 40:80]
    assert np.array_equal(visitor.session_state.drawing.image(), colour.scaled(middle, 32))
    visitor.session_state.model = "own:large"
    visitor.run()
    assert visitor.session_state.drawing.image().shape == (64, 64, 3)
    visitor.session_state.model = "own:photos"
    visitor.run()
    assert np.array_equal(visitor.session_state.drawing.image(), colour.scaled(middle, 32))


@pytest.mark.parametrize("content", [b"no picture", as_file(NOISE)[:300]])
def test_a_file_that_is_no_photo_gets_a_sentence_and_changes_nothing(content, upload):
    visitor = upload(content)
    assert not visitor.exception
    assert "cannot be read as a picture" in visitor.error[0].value
    assert visitor.query_params["d"] == "fcat.53.0.213"


@pytest.mark.parametrize("code", ["cAAAA", "fdog.0.0.10", "fcat.900.0.10", "c" + "A" * 9000])
def test_a_bad_code_gets_a_sentence_and_a_photo_of_ours(code, open_photo):
    visitor = open_photo(d=code)
    assert not visitor.exception
    assert len(visitor.warning) == 1
    assert visitor.query_params["d"] == "fcat.53.0.213"


def test_a_photo_in_a_model_of_digits_is_shown_in_grey(shipped, open_app):
    shipped(SMALL)
    for page in (*PATH, "what_if"):
        visitor = open_app(page, d=CAT)
        assert not visitor.exception


def test_another_photo_stands_beside(open_photo, colour_models):
    other = "fcoffee.0.0.200"
    visitor = open_photo("logits", **{"with": f"d:{other}"})
    mine, beside = (traced(colour_models, "photos", code) for code in (visitor.query_params["d"], other))
    assert (f"Yours is read as **{NAMES[mine.prediction]}** with {mine.probabilities.max():.1%}, the one beside it as "
            f"**{NAMES[beside.prediction]}** with {beside.probabilities.max():.1%}.") in words(visitor)


def test_a_shipped_model_for_photos_is_offered_beside_the_canvas(shipped, open_app, lively, tmp_path, monkeypatch):
    shipped(SMALL)
    checkpoints.save(lively(COLOUR), tmp_path / "photos.safetensors", {"dataset": "cifar10"})
    monkeypatch.setitem(checkpoints.SHIPPED, "photos", tmp_path / "photos.safetensors")
    monkeypatch.setitem(models.NAMES, "photos", "photos · trained")
    visitor = open_app()
    next(button for button in visitor.button if button.label.startswith("Or show a photo")).click().run()
    assert visitor.query_params["model"] == "photos"
    assert "It reads **" in words(visitor)


def test_the_tour_tells_of_the_photo(open_photo):
    visitor = open_photo("machine")
    next(button for button in visitor.button if button.label == "Tour").click().run()
    assert "with your photo in it" in words(visitor)
    visitor.button(key="tour_next").click().run()
    assert "A square is cut out and scaled" in words(visitor)
