"""Intervals against SciPy and by hand, and what each rule makes of them."""

import math

import numpy as np
import pytest
from scipy import stats

from vit.studies.statistics import Estimate, estimate, paired_differences
from vit.studies.study import (
    CANNOT_TELL,
    DOES_NOT,
    HOLDS,
    IN_PART,
    VERDICTS,
    Above,
    Between,
    Near,
    NoWorse,
    all_of,
    any_arm_of,
)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_interval_is_that_of_scipy(n):
    values = np.random.default_rng(n).normal(1, 2, n)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    ours = estimate(list(values))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.mean == pytest.approx(values.mean())


def test_the_interval_of_three_values_by_hand():
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.high - found.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t of 2 degrees of freedom


def test_the_smallest_visible_effect_is_seen_in_eight_of_ten_cases():
    random, seen, tries = np.random.default_rng(0), 0, 4000
    spread = estimate([-1.0, -0.5, 0.0, 0.5, 1.0])
    deviation = math.sqrt(2.5 / 4)
    for _ in range(tries):
        found = estimate(list(random.normal(spread.visible, deviation, 5)))
        seen += found.low > 0 or found.high < 0
    assert seen / tries == pytest.approx(0.8, abs=0.025)


def test_more_seeds_see_smaller_effects():
    one, other = estimate([-1.0, 0.0, 1.0]), estimate([-1.0, 0.0, 1.0] * 4)
    assert other.visible < one.visible / 2


def test_of_fewer_than_two_values_nothing_is_sure():
    for values in ([], [3.0]):
        found = estimate(values)
        assert not found.certain
        assert (found.low, found.high, found.visible) == (-math.inf, math.inf, math.inf)


def test_equal_values_have_an_interval_of_no_width():
    assert estimate([2.0, 2.0, 2.0]) == Estimate(3, 2.0, 2.0, 2.0, 0.0)


def test_differences_are_paired_by_seed_and_lonely_seeds_left_out():
    assert paired_differences({2: 5.0, 0: 1.0, 7: 9.0}, {0: 3.0, 2: 1.0, 8: 0.0}) == {0: -2.0, 2: 4.0}


def found(low, high, visible=9.0, n=5):
    return Estimate(n, (low + high) / 2, low, high, visible)


@pytest.mark.parametrize(("interval", "verdict"), [
    (found(0.6, 2), HOLDS),
    (found(0.5, 2), IN_PART),  # not above the margin, but at it
    (found(0.1, 2), IN_PART),
    (found(0.1, 0.4), IN_PART),
    (found(0.0, 0.4), DOES_NOT),
    (found(-1, 0.4), DOES_NOT),
    (found(-3, -1), DOES_NOT),
    (found(-0.4, 0.9, visible=1.0), DOES_NOT),
    (found(-0.4, 0.9, visible=1.1), CANNOT_TELL),
    (found(-3, 5), CANNOT_TELL),
    (estimate([4.0]), CANNOT_TELL),
])
def test_above_by_a_margin(interval, verdict):
    assert Above(first="a", second="b", margin=0.5, visible=1.0).verdict(interval) == verdict


@pytest.mark.parametrize(("interval", "verdict"), [
    (found(-0.4, 0.5), HOLDS),
    (found(1, 2), HOLDS),
    (found(-0.4, -0.1), IN_PART),
    (found(-2, -0.6), DOES_NOT),
    (found(-2, 1), CANNOT_TELL),
    (found(-2, -0.3), CANNOT_TELL),
    (estimate([4.0]), CANNOT_TELL),
])
def test_no_worse_but_for_a_margin(interval, verdict):
    assert NoWorse(first="a", second="b", margin=0.5).verdict(interval) == verdict


@pytest.mark.parametrize(("interval", "verdict"), [
    (found(0.5, 2), HOLDS),
    (found(0.8, 1.2), HOLDS),
    (found(0.1, 0.4), DOES_NOT),
    (found(2.1, 3), DOES_NOT),
    (found(0.4, 1), CANNOT_TELL),
    (found(0, 9), CANNOT_TELL),
    (estimate([1.0]), CANNOT_TELL),
])
def test_between_two_limits(interval, verdict):
    assert Between(arm="a", measure="m", low=0.5, high=2).verdict(interval) == verdict


@pytest.mark.parametrize(("interval", "verdict"), [
    (found(35, 41), HOLDS),
    (found(10, 60), HOLDS),
    (found(50, 60), DOES_NOT),
    (estimate([38.0]), CANNOT_TELL),
])
def test_near_a_figure(interval, verdict):
    assert Near(arm="a", measure="m", figure=38, within=3).verdict(interval) == verdict


@pytest.mark.parametrize(("verdicts", "together"), [
    ([HOLDS, HOLDS], HOLDS),
    ([HOLDS, DOES_NOT], IN_PART),
    ([HOLDS, CANNOT_TELL], IN_PART),
    ([IN_PART, IN_PART], IN_PART),
    ([DOES_NOT, CANNOT_TELL], DOES_NOT),
    ([CANNOT_TELL, CANNOT_TELL], CANNOT_TELL),
    ([], CANNOT_TELL),
])
def test_verdicts_together(verdicts, together):
    assert all_of(verdicts) == together


def test_a_search_holds_if_one_arm_does_all_that_is_asked():
    assert any_arm_of({"a": [DOES_NOT, HOLDS], "b": [HOLDS, HOLDS]}) == HOLDS
    assert any_arm_of({"a": [DOES_NOT, HOLDS], "b": [DOES_NOT, DOES_NOT]}) == IN_PART
    assert any_arm_of({"a": [DOES_NOT], "b": [DOES_NOT]}) == DOES_NOT
    assert any_arm_of({}) == CANNOT_TELL


def test_a_rule_judges_the_pairs_of_its_measure():
    values = {"accuracy": {"a": {0: 97.0, 1: 98.0, 2: 97.5}, "b": {0: 95.0, 1: 96.0, 2: 95.4}}}
    judged = Above(first="a", second="b", margin=0.5, visible=1).judge(values.__getitem__)
    assert judged.values == pytest.approx({0: 2.0, 1: 2.0, 2: 2.1})
    assert judged.verdict == HOLDS
    assert judged.verdict in VERDICTS
