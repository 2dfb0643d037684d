"""What came out is told in sentences that say what the figures say."""

import pytest

from tests.support.studies import MADE, made_up, run_of
from vit.studies.catalogue import CATALOGUE
from vit.studies.computations import chances_of_batches
from vit.studies.meanings import MEANINGS
from vit.studies.results import findings_of, result_of
from vit.studies.study import (
    CANNOT_TELL,
    DOES_NOT,
    HOLDS,
    IN_PART,
    VERDICTS,
    Above,
    Arm,
    Between,
    Computation,
    Near,
    NoWorse,
    Place,
    Setting,
    Study,
)
from vit.studies.words import could_have_seen, finding_in_words, of_figures, outcome

FLIPS = CATALOGUE["flips-hurt"]


def study_of(*rules, settings=("here",), search=False):
    return Study(number=1, id="little", title="?", claim=".", places=(Place("000", "Introduction"),),
                 settings=tuple(Setting(name, FLIPS.settings[0].base, 1, 3) for name in settings),
                 arms=(Arm("a"), Arm("b")), rules=rules, search=search)


def judged(rule, differences):
    """One finding of runs whose arms differ so for each seed."""
    runs = [run for seed, gap in enumerate(differences)
            for run in (run_of("here", "a", seed, 90 + gap), run_of("here", "b", seed, 90))]
    return findings_of(study_of(rule), runs)[0]


ABOVE = Above(first="a", second="b", margin=1.0, visible=2.0)
NO_WORSE = NoWorse(first="a", second="b", margin=1.0)


@pytest.mark.parametrize(("rule", "differences", "verdict", "words"), [
    (ABOVE, [3.0, 3.1, 3.2], HOLDS, "“a” is ahead of “b” by 3.10 points (95 % sure: +2.85 to +3.35; 3 seeds)."),
    (ABOVE, [0.9, 1.0, 1.1], IN_PART, "more than nothing, but not surely more than the 1 that the rule asks for."),
    (ABOVE, [-3.0, -3.1, -3.2], DOES_NOT, "“a” is behind “b” by 3.10 points (95 % sure: −3.35 to −2.85; 3 seeds): the "
                                          "other way round."),
    (ABOVE, [0.1, -0.1, 0.0], DOES_NOT, "less than the 1 that the rule asks for."),
    (ABOVE, [0.1, -0.1, 0.0], DOES_NOT, "Accuracy of “a” and of “b” is the same to a hundredth (95 % sure: −0.25 to"),
    (ABOVE, [0.5, -0.4, 0.7], DOES_NOT, "nothing to be seen, and 2 would have been."),
    (ABOVE, [9.0, -9.0, 3.0], CANNOT_TELL, "too scattered to tell"),
    (ABOVE, [3.0], CANNOT_TELL, "(1 seed, so no interval): one seed tells nothing."),
    (NO_WORSE, [0.1, 0.2, -0.1], HOLDS, ": no worse."),
    (NO_WORSE, [-0.4, -0.5, -0.6], IN_PART, "a little worse, but by less than 1."),
    (NO_WORSE, [-3.0, -3.1, -3.2], DOES_NOT, "worse by more than 1."),
])
def test_a_difference_is_told_with_its_interval_and_why_that_is_the_verdict(rule, differences, verdict, words):
    finding = judged(rule, differences)
    assert finding.verdict == verdict
    assert words in finding_in_words(rule, finding)


@pytest.mark.parametrize(("rule", "verdict", "words"), [
    (Between(arm="a", measure="gap", low=-1, high=9), HOLDS, "Gap of “a” is 2.00 points"),
    (Between(arm="a", measure="gap", low=7, high=9), DOES_NOT, "outside 7 to 9."),
    (Between(arm="a", measure="gap", low=2, high=9), CANNOT_TELL, "crosses the edge"),
    (Near(arm="a", measure="training accuracy of epoch 1", figure=38.29, within=3), HOLDS, "38.29 % is reported."),
    (Near(arm="a", measure="training accuracy of epoch 1", figure=70, within=3), DOES_NOT, "which is something else."),
])
def test_a_measure_is_told_with_the_range_that_is_asked_for(rule, verdict, words):
    finding = judged(rule, [0.0, 0.0, 0.0])
    assert finding.verdict == verdict
    assert words in finding_in_words(rule, finding)
    assert could_have_seen(rule, finding) == ""


def test_differences_of_logarithms_are_told_as_ratios():
    study = CATALOGUE["compile-halves"]
    runs = [run_of(study.settings[0].name, arm.name, seed, 90) for arm in study.arms for seed in range(3)]
    finding = findings_of(study, runs)[0]
    assert finding.mean == pytest.approx(1)
    told = finding_in_words(study.rules[0], finding)
    assert "“not compiled” takes 2 times as long for an image as “compiled”" in told


def test_of_many_comparisons_the_rarer_kind_is_told():
    study = study_of(ABOVE, settings=("here", "there", "elsewhere"))
    gaps = {"here": 5, "there": 5, "elsewhere": -5}
    runs = [run for setting, gap in gaps.items() for seed in range(3) for run in
            (run_of(setting, "a", seed, 90 + gap + seed / 10), run_of(setting, "b", seed, 90))]
    said = outcome(study, result_of(study, runs, MADE))
    assert said.startswith("2 of 3 comparisons hold; not this: elsewhere: “a” is behind “b”")


def test_a_search_names_what_gives_the_figures():
    rules = tuple(Near(arm=arm, measure="accuracy", figure=90, within=1) for arm in "ab")
    study = study_of(*rules, search=True)
    for accuracy, words in ((90.5, "One of 2 settings that were tried gives all figures: here, “b”."),
                            (50, "None of 2 settings that were tried gives all figures, or one of them.")):
        runs = [run_of("here", arm, seed, accuracy if arm == "b" else 20) for arm in "ab" for seed in range(2)]
        assert outcome(study, result_of(study, runs, MADE)) == words


@pytest.mark.parametrize("study", CATALOGUE.values(), ids=lambda study: study.id)
def test_every_claim_has_an_outcome_and_a_meaning_for_every_verdict(study):
    said = outcome(study, made_up(study))
    assert said.endswith(".")
    assert "{" not in said
    assert all(MEANINGS[study.id].of(verdict).endswith(".") for verdict in VERDICTS)
    assert MEANINGS[study.id].why.endswith(".")


def test_meanings_belong_to_claims():
    assert MEANINGS.keys() == CATALOGUE.keys()


def test_figures_of_computations_are_told_from_the_figures():
    chances = chances_of_batches()
    perfect, worse = chances.values()
    assert f"in {perfect:.0f} % of cases" in of_figures("batch-of-32", chances)
    assert f"at most 30 in {worse:.0f} %" in of_figures("batch-of-32", chances)
    counted = CATALOGUE["number-of-weights"].compute().figures
    assert "1,992,970 weights, not 1,200,000" in of_figures("number-of-weights", counted)
    assert of_figures("number-of-weights", {"something": 1.5}) == "something: 1.50."
    assert all(study.id in MEANINGS for study in CATALOGUE.values() if isinstance(study, Computation))
