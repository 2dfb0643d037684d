import numpy as np
import pytest

from vit.charts import colours
from vit.charts.picture import Legend, Picture, PixelPicture, TemplatePicture
from vit.ui import markup, show

HOSTILE = '<img src=x onerror="alert(1)">'


def test_no_picture_goes_without_an_alternative_text():
    with pytest.raises(TypeError, match="alt"):
        PixelPicture(np.zeros((1, 1, 3), np.uint8))
    with pytest.raises(ValueError, match="alternative text"):
        PixelPicture(np.zeros((1, 1, 3), np.uint8), alt=" ")


def test_what_cannot_be_shown_is_an_error():
    with pytest.raises(TypeError, match="no way to show a Picture"):
        show.show(Picture(alt="nothing"))


def test_words_are_dark_on_bright_cells():
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[0, 1] = 250
    picture = PixelPicture(pixels, 2, 2, alt="four cells", words={0: "a", 1: "b"})
    assert show.as_data(picture, clickable=False)["bright"] == [1]


def test_a_legend_s_ends_are_numbers_or_words():
    legend = Legend(colours.WARM, -0.5, "most", "x")
    picture = PixelPicture(np.zeros((1, 1, 3), np.uint8), alt="one cell", legend=legend)
    scale = show.as_data(picture, clickable=True)["scale"]
    assert (scale["low"], scale["high"], scale["caption"]) == ("−0.500", "most", "x")


@pytest.mark.parametrize("template", sorted(path.stem for path in markup.FRONTEND.glob("*.html")))
def test_every_template_can_be_read(template):
    markup._templates().get_template(f"{template}.html")


def test_what_a_template_shows_is_escaped():
    told = {"answer": HOSTILE, "confidence": HOSTILE, "sure": True}
    values = {"picture": HOSTILE, "before": told, "after": told}
    card = TemplatePicture("answer_card", values, alt=HOSTILE)
    assert "<img src=x" not in markup.render(card.template, alt=card.alt, **card.values)


def test_a_value_that_a_template_needs_cannot_be_forgotten():
    with pytest.raises(Exception, match="undefined"):
        markup.render("answer_card", alt="x")
