import numpy as np

from tests.pages.test_explorer import SEVEN, SMALL
from vit import drawing
from vit.trace import trace_image


def headings(page):
    return [element.value for element in page.subheader]


def test_the_answer_is_looked_into_until_another_class_is_chosen(shipped, open_app):
    trace = trace_image(shipped(SMALL), drawing.from_code(SEVEN).image())
    *_, second, best = np.argsort(trace.logits)
    page = open_app("logits", d=SEVEN)
    assert headings(page)[:3] == [f"The logit of {best}", f"The probability of {best}", f"Why {best} and not {second}?"]
    other = int(np.argsort(trace.logits)[0])
    page.button_group(key="class_widget").set_value(other).run()
    assert not page.exception
    assert headings(page)[:3] == [
        f"The logit of {other}", f"The probability of {other}", f"Why {best} and not {other}?"
    ]


def test_another_drawing_is_looked_into_from_its_own_answer(shipped, open_app):
    model = shipped(SMALL)
    best = trace_image(model, drawing.from_code("s3").image()).prediction
    page = open_app("logits", d=SEVEN)
    page.session_state.chosen_class = (SEVEN, (best + 1) % 10)
    page.session_state.drawing = drawing.from_code("s3")
    page.run()
    assert f"The logit of {best}" in headings(page)


def test_a_class_that_another_model_does_not_have_is_forgotten(shipped, open_app):
    best = trace_image(shipped(SMALL), drawing.from_code(SEVEN).image()).prediction
    page = open_app("logits", d=SEVEN)
    page.session_state.chosen_class = (SEVEN, 999)
    page.run()
    assert not page.exception
    assert f"The logit of {best}" in headings(page)
