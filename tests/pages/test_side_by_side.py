"""Two models, or two drawings, on one page."""

import numpy as np
import pytest

from tests.pages.test_explorer import SEVEN, SMALL, words
from tests.support.models import make_lively
from vit import checkpoints, drawing, explain, runs
from vit.config import TrainConfig, ViTConfig
from vit.trace import trace_image
from vit.ui import models


@pytest.fixture
def twins(root):
    """A trained pair, as far as their weights go."""
    pair = runs.create_twins(TrainConfig(dataset="mnist", model=SMALL), "quick")
    for seed, run in enumerate(runs.pair(pair), start=1):
        checkpoints.save(make_lively(SMALL, seed), run.folder / "checkpoints" / "epoch-0001.safetensors")
    return [f"run:{run.id}/epoch-0001" for run in runs.pair(pair)]


def read(model, code):
    return trace_image(model, drawing.from_code(code).image())


def test_another_drawing_stands_beside_on_logits(shipped, open_app):
    model = shipped(SMALL)
    mine, other = read(model, SEVEN), read(model, "s3")
    visitor = open_app("logits", d=SEVEN, **{"with": "d:s3"})
    assert not visitor.exception
    assert (f"Yours is read as a **{mine.prediction}** with {mine.probabilities.max():.1%}, the one beside it as a "
            f"**{other.prediction}** with {other.probabilities.max():.1%}.") in words(visitor)
    label = int(np.abs(mine.logits - other.logits).argmax())
    assert f"Furthest apart is the logit of {label}:" in words(visitor)
    assert visitor.query_params["with"] in ("d:s3", ["d:s3"])


def test_another_machine_stands_below_with_its_own_answer(shipped, open_app):
    model = shipped(SMALL)
    mine, other = read(model, SEVEN), read(model, "s3")
    visitor = open_app("machine", d=SEVEN, **{"with": "d:s3"})
    assert not visitor.exception
    for name, trace in {"your drawing": mine, "the drawing beside it": other}.items():
        assert f"**{name}** · reads a **{trace.prediction}** with {trace.probabilities.max():.1%}." in words(visitor)


def test_another_drawing_stands_beside_on_attention(shipped, open_app):
    model = shipped(SMALL)
    apart = explain.heads_apart(read(model, SEVEN), read(model, "s3"), token=2)
    visitor = open_app("attention", d=SEVEN, layer="2", head="3", token="2", **{"with": "d:s3"})
    assert not visitor.exception
    assert f"**{apart[1, 2]:.0%}** of patch 2's attention goes elsewhere" in words(visitor)
    assert f"{apart.mean():.0%} on average" in words(visitor)


@pytest.mark.parametrize("page", ["machine", "attention", "logits"])
def test_a_model_of_another_shape_stands_beside(shipped, open_app, page):
    shipped(ViTConfig(patch_size=14, width=32, depth=2, heads=2))
    visitor = open_app(page, d=SEVEN, layer="2", head="2", token="3", **{"with": "untrained"})
    assert not visitor.exception
    assert "untrained · random weights" in words(visitor)
    assert ("have not the same layers" in words(visitor)) == (page == "attention")


def test_the_twin_of_a_run_is_the_first_to_compare_with(shipped, open_app, twins):
    shipped(SMALL)
    one, other = twins
    assert models.twins_of(one) == [other]
    assert models.twins_of("explorer") == []
    assert models.twins_of("run:gone-plain/epoch-0001") == []
    visitor = open_app("attention", d=SEVEN, model=one, **{"with": other})
    assert not visitor.exception
    assert "goes elsewhere in the other" in words(visitor)


def test_what_is_the_same_on_both_sides_is_said(shipped, open_app):
    shipped(SMALL)
    assert "Both are the same now" in words(open_app("attention", d=SEVEN, **{"with": f"d:{SEVEN}"}))


@pytest.mark.parametrize("code", ["nonsense", "d:", "d:zzz", "run:x/y", "run:../../etc/passwd", "d:s99999"])
def test_a_link_with_nonsense_beside_is_answered_politely(shipped, open_app, code):
    shipped(SMALL)
    assert "Nothing stands beside yours." in words(open_app(d=SEVEN, **{"with": code}))
    visitor = open_app("attention", d=SEVEN, **{"with": code})
    assert not visitor.exception
    assert "with" not in visitor.query_params


def test_a_run_that_is_deleted_meanwhile_leaves_a_sentence(shipped, open_app, twins):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, **{"with": twins[0]})
    (runs.root() / twins[0].removeprefix("run:").partition("/")[0] / "checkpoints" / "epoch-0001.safetensors").unlink()
    visitor.run()
    assert not visitor.exception
    assert "Nothing stands beside yours." in words(visitor)


def test_comparing_ends_where_one_says_so(shipped, open_app):
    shipped(SMALL)
    visitor = open_app("attention", d=SEVEN, **{"with": "d:s3"})
    next(button for button in visitor.button if button.label == "Stop comparing").click().run()
    assert "goes elsewhere" not in words(visitor)
    assert "with" not in visitor.query_params
    next(button for button in visitor.button if button.label == "Compare with another").click().run()
    assert "The page shows both, side by side." in words(visitor)


def test_the_share_of_attention_that_moves_is_a_distance():
    one, other = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert explain.looks_elsewhere(one, other) == 0.5
    assert explain.looks_elsewhere(one, one) == 0
    assert explain.looks_elsewhere(np.eye(2)[0], np.eye(2)[1]) == 1
