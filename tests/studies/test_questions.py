"""What twins can be asked: arms that differ in one thing, and sentences that say what came out."""

import numpy as np
import pytest

from tests.support.verdicts import LABELS, verdict
from vit import compare
from vit.config import TRAINING_PRESETS
from vit.numbers import with_sign
from vit.studies import questions
from vit.studies.catalogue import CATALOGUE
from vit.studies.questions import QUESTIONS
from vit.studies.study import differences

EVERY = pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))


@EVERY
@pytest.mark.parametrize("preset", TRAINING_PRESETS)
def test_twins_differ_in_exactly_one_thing_whatever_the_budget(question, preset):
    arms = question.arms(TRAINING_PRESETS[preset])
    assert tuple(arms) == question.names
    assert arms[question.first.name] != arms[question.second.name]
    assert len(differences((question.first, question.second), TRAINING_PRESETS["quick"])) == 1


@EVERY
def test_a_question_tells_the_claim_behind_it_and_its_arms_are_that_study_s(question):
    study = CATALOGUE[question.study]
    of_study = [arm.changes for arm in study.arms]
    ours = {"augmentation": "flips"} if question.second.changes == {"flips": True} else question.second.changes
    assert ours in of_study


def test_do_flips_hurt_comes_first():
    assert next(iter(QUESTIONS)) == "flips"
    plain, flips = QUESTIONS["flips"].arms(TRAINING_PRESETS["quick"]).values()
    assert (plain.mirrors, flips.mirrors) == (False, True)
    assert plain == TRAINING_PRESETS["quick"]


def test_warm_up_can_be_asked_of_a_recipe_that_has_none():
    warm, cold = QUESTIONS["warm-up"].arms(TRAINING_PRESETS["article"]).values()
    assert warm.warmup_steps > 0 == cold.warmup_steps
    assert QUESTIONS["warm-up"].arms(TRAINING_PRESETS["tiny"])["with warm-up"].warmup_steps == 500


def test_any_knob_can_be_what_twins_differ_in():
    base = TRAINING_PRESETS["quick"]
    slow, fast = questions.own("learning_rate", 1e-3, 1e-2, of_model=False).arms(base).items()
    assert (slow[0], fast[0]) == ("learning rate 0.001", "learning rate 0.01")
    assert (slow[1].learning_rate, fast[1].learning_rate) == (1e-3, 1e-2)
    shallow, deep = questions.own("depth", 1, 6, of_model=True).arms(base).values()
    assert (shallow.model.depth, deep.model.depth) == (1, 6)
    assert list(questions.own("train_images", 100, None, of_model=False).arms(base)) == [
        "train images 100", "train images all"]
    with pytest.raises(ValueError, match="the same"):
        questions.own("depth", 3, 3, of_model=True).arms(base)


def test_the_lesson_states_gap_interval_and_images():
    flips = QUESTIONS["flips"]
    gap = compare.measure_gap((verdict([]), verdict(np.arange(100))), LABELS)
    sentence = flips.lesson(gap)
    assert "Flipping digits hurts: the twin without flips is ahead by" in sentence
    assert "+10.0 points" in sentence
    assert f"between {with_sign(gap.low, 1)} and {with_sign(gap.high, 1)}" in sentence
    assert "1,000 validation images after 100 steps" in sentence
    helped = compare.measure_gap((verdict(np.arange(100)), verdict([])), LABELS)
    assert "Flipping helps" in flips.lesson(helped, "fashion-mnist")
    even = compare.measure_gap((verdict([]), verdict([])), LABELS)
    assert "Too close to tell" in flips.lesson(even)
    assert "few seconds" in flips.lesson(None, training=True)
    assert "no results" in flips.lesson(None)


@EVERY
def test_each_question_tells_its_own_findings(question):
    ahead = compare.measure_gap((verdict([]), verdict(np.arange(100))), LABELS)
    behind = compare.measure_gap((verdict(np.arange(100)), verdict([])), LABELS)
    first, second = question.lesson(ahead), question.lesson(behind)
    assert questions.called(question.first.name) in first
    assert questions.called(question.second.name) in second
    assert "{" not in first + second


@pytest.mark.parametrize(("arm", "twin", "after"), [
    ("with flips", "the twin with flips", "with flips"), ("CNN", "the CNN", "of the CNN"),
    ("random flips", "the twin with random flips", "with random flips"),
])
def test_twins_are_called_by_their_arms(arm, twin, after):
    assert questions.called(arm) == twin
    assert questions.brought_by(arm) == after


def test_runs_for_a_question_that_is_not_ours_are_told_by_their_names():
    assert questions.told_by("flips", QUESTIONS["flips"].names) is QUESTIONS["flips"]
    other = questions.told_by("flips", ["no flips", "random flips"])
    gap = compare.measure_gap((verdict([]), verdict(np.arange(100))), LABELS)
    assert "the twin with no flips is ahead" in other.lesson(gap)
