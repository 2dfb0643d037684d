import base64
import io

import numpy as np
import pytest
from PIL import Image

from vit.charts import colours, draw
from vit.ui import markup

PROBABILITIES = np.array([0.25, 0.6, 0.14999, 1e-5], np.float32)


def test_the_answer_has_a_bar_for_each_class_and_knows_the_best():
    picture = draw.answer(PROBABILITIES, sure=True, name="answer", comment="60.0% sure")
    bars = picture.values["bars"]
    assert picture.values["answer"] == 1
    assert [bar.name for bar in bars if bar.best] == ["1"]
    assert [bar.text for bar in bars] == ["25.0%", "60.0%", "15.0%", "0.0%"]
    assert [bar.share for bar in bars] == pytest.approx(PROBABILITIES, abs=5e-5)
    assert all(bar.before is None for bar in bars)
    assert picture.alt == "probability of each digit: 0 25.0%, 1 60.0%, 2 15.0%, 3 0.0%"


def test_the_changed_answer_remembers_where_each_probability_was():
    before = PROBABILITIES[::-1]
    picture = draw.answer(PROBABILITIES, sure=False, name="changed-answer", before=before)
    assert [bar.before for bar in picture.values["bars"]] == pytest.approx(before, abs=5e-5)


def test_of_a_thousand_classes_ten_bars_and_one_for_all_others_add_up():
    before, now = (np.random.default_rng(seed).dirichlet(np.full(1000, 0.05)) for seed in range(2))
    bars = draw.answer(now, sure=True, name="answer", before=before).values["bars"]
    assert [bar.name for bar in bars[:10]] == list(map(str, np.argsort(-now)[:10]))
    assert [bar.name for bar in bars[10:]] == [str(before.argmax()), "989 others"]
    assert sum(bar.share for bar in bars) == pytest.approx(1, abs=1e-3)
    assert sum(bar.before for bar in bars) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("sure", "grey"), [(True, False), (False, True)])
def test_an_unsure_answer_is_shown_in_grey_and_found_by_its_name(sure, grey):
    picture = draw.answer(PROBABILITIES, sure, name="changed-answer")
    html = markup.render(picture.template, alt=picture.alt, **picture.values)
    assert ("pw-unsure" in html) == grey
    assert 'data-testid="changed-answer">1<' in html


def test_a_comment_is_shown_as_text():
    picture = draw.answer(PROBABILITIES, True, name="answer", comment="<b>sure</b>")
    assert "&lt;b&gt;sure" in markup.render(picture.template, alt=picture.alt, **picture.values)


def pixels_of(step):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(step.source.split(",")[1]))))


def test_the_steps_end_with_what_the_model_sees_under_its_grid(digit):
    way = [(np.full((300, 200), 255, np.uint8), "the ink"), (np.zeros((20, 28), np.uint8), "scaled")]
    steps = draw.steps(way, digit, "what the model sees", grid=7).values["figures"]
    assert [step.caption for step in steps] == ["the ink", "scaled", "what the model sees"]
    assert [step.grid for step in steps] == [0, 0, 7]
    assert [step.width for step in steps] == [0.667, 1, 1]  # as tall as a square, or as wide
    assert pixels_of(steps[0]).shape == (150, 100, 3)  # a large picture is sent small
    np.testing.assert_array_equal(pixels_of(steps[2]), colours.paint(digit, colours.INK, 0, 255))


def test_a_colour_model_s_digit_is_shown_in_grey(digit):
    coloured = np.stack([digit] * 3, -1)
    (step,) = draw.steps([], coloured, "what the model sees", grid=4).values["figures"]
    np.testing.assert_array_equal(pixels_of(step), colours.paint(digit, colours.INK, 0, 255))


def test_samples_say_what_their_writers_meant(digit):
    picture = draw.samples(np.stack([digit] * 9), range(9), chosen=8)
    assert (picture.rows, picture.columns) == (2, 7)
    assert picture.labels[8] == "written as 8"
    assert picture.chosen == [8]
    assert draw.samples(digit[None], [3], chosen=None).chosen == []
