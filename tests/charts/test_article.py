"""The article's recipe beside its own figures, by value."""

import pytest

from tests.support.studies import MADE
from vit.charts import article, claim_tables
from vit.studies.article import BEST, EARLY, NOT_YET, EpochFigures, Recipe, Recorded


def run(epochs, stopped, accuracy):
    figures = [EpochFigures(n, 1 / n, accuracy + n, 2 / n, accuracy - 1 / n, 600.0 * n) for n in range(1, epochs + 1)]
    return Recorded(figures, stopped, 50, epochs, accuracy, [accuracy] * 10, [50.0] * 10)


RECIPE = Recipe(run(4, EARLY, 90.0), run(2, NOT_YET, 80.0), MADE)


def test_every_epoch_is_a_point_and_the_reported_best_a_line():
    picture = article.by_epoch(RECIPE)
    plain, _, flips, _ = picture.figure.data
    assert list(plain.x) == [1, 2, 3, 4]
    assert plain.y[-1] == pytest.approx(89.75)
    assert len(flips.x) == 2
    assert [shape.y0 for shape in picture.figure.layout.shapes] == list(BEST.values())
    assert "89.75 % without flips and 79.50 % with flips" in picture.alt


def test_digits_are_those_of_the_record():
    for mirrored, expected in ((False, [[90.0] * 10, [80.0] * 10]), (True, [[50.0] * 10] * 2)):
        picture = article.by_digit(RECIPE, mirrored)
        assert [list(trace.y) for trace in picture.figure.data] == expected


def test_our_figures_stand_beside_the_article_s_and_what_is_not_done_is_said():
    picture = claim_tables.article_table(RECIPE)
    rows = {row["name"]: row for row in picture.values["rows"]}
    assert rows["Best validation accuracy"]["plain"] == "97.39 %"
    assert rows["Best validation accuracy"]["ours_plain"] == "89.75 %"
    assert rows["Time per epoch"]["ours_flips"] == "10 min"
    assert "Without flips early stopping ended it after 4 epochs" in picture.values["note"]
    assert "with flips it is not done: 2 epochs of at most 50 so far" in picture.values["note"]
    empty = claim_tables.article_table(None)
    assert {row["ours_flips"] for row in empty.values["rows"]} == {claim_tables.NOTHING}
    assert "Not recorded yet" in empty.values["note"]
