"""Censored times against scipy and statsmodels, brute force, and numbers found by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from analysis.stats.survival import (
    Time,
    kaplan_meier,
    logrank,
    median,
    range_coverage,
    restricted_mean,
    scores,
    smallest_p,
)

times = st.lists(
    st.tuples(st.integers(1, 12), st.booleans()).map(lambda t: Time(*t)), min_size=1, max_size=8
)


def censored(group):
    return stats.CensoredData.right_censored(
        [t.iteration for t in group], [not t.reached for t in group]
    )


@given(times)
def test_kaplan_meier_is_that_of_scipy_and_statsmodels(group):
    curve = kaplan_meier(group)
    expected = stats.ecdf(censored(group)).sf
    at = [t.iteration for t in group]
    other = SurvfuncRight(np.array(at, float), np.array([t.reached for t in group], int))
    assert curve.share == pytest.approx(list(expected.evaluate(np.array(curve.iteration))))
    assert curve.share == pytest.approx(other.surv_prob)


@given(times)
def test_the_median_is_that_of_statsmodels(group):
    at = np.array([t.iteration for t in group], float)
    # A hair more than one half: its shares of one half may be rounded down.
    other = SurvfuncRight(at, np.array([t.reached for t in group], int)).quantile(0.5 + 1e-9)
    assert median(group) == (None if np.isnan(other) else other)


def test_median_and_restricted_mean_by_hand():
    """Four of five arrive at 10, 20, 30, 40; the last had not at 100."""
    group = [Time(t, True) for t in (10, 20, 30, 40)] + [Time(100, False)]
    assert kaplan_meier(group) == ((10, 20, 30, 40), pytest.approx((0.8, 0.6, 0.4, 0.2)))
    assert median(group) == 30
    assert restricted_mean(group, 100) == pytest.approx((10 + 20 + 30 + 40 + 100) / 5)
    assert restricted_mean(group, 25) == pytest.approx((10 + 20 + 25 * 3) / 5)
    assert median([Time(100, False)] * 3) is None
    assert restricted_mean([Time(100, False)] * 3, 100) == 100
    assert median([Time(10, True), Time(20, True)]) == 20
    assert median([Time(10, True), Time(100, False)]) is None


def test_an_early_censored_run_leaves_its_weight_to_the_others():
    """By hand: 3 at risk at 10 (2/3 left), 1 at risk at 30 (none left)."""
    group = [Time(10, True), Time(20, False), Time(30, True)]
    assert kaplan_meier(group) == ((10, 30), pytest.approx((2 / 3, 0)))
    assert restricted_mean(group, 40) == pytest.approx(10 + 20 * 2 / 3)


@given(times)
def test_restricted_mean_is_the_mean_of_cut_times_when_all_share_a_budget(group):
    budget = 12
    group = [t if t.reached else Time(budget, False) for t in group]
    assert restricted_mean(group, budget) == pytest.approx(np.mean([t.iteration for t in group]))


@given(times, times)
def test_scores_add_up_to_observed_minus_expected(a, b):
    pooled = scores([*a, *b])
    assert pooled.sum() == pytest.approx(0, abs=1e-9)
    if not any(t.reached for t in [*a, *b]):
        return
    joined = [*a, *b]
    expected = 0.0
    for at in {t.iteration for t in joined if t.reached}:
        events = sum(t.reached and t.iteration == at for t in joined)
        share = sum(t.iteration >= at for t in a) / sum(t.iteration >= at for t in joined)
        expected += events * share
    assert pooled[: len(a)].sum() == pytest.approx(sum(t.reached for t in a) - expected)


@settings(max_examples=30, deadline=None)
@given(times.filter(lambda g: len(g) <= 5), times.filter(lambda g: len(g) <= 4))
def test_the_exact_log_rank_is_that_of_brute_force(a, b):
    """Relabel and compute observed minus expected anew each time, with statsmodels' tables."""

    def distance(first, second):
        joined = [*first, *second]
        value = sum(t.reached for t in first)
        for at in {t.iteration for t in joined if t.reached}:
            events = sum(t.reached and t.iteration == at for t in joined)
            at_risk = [t for t in joined if t.iteration >= at]
            value -= events * sum(t.iteration >= at for t in first) / len(at_risk)
        return abs(value)

    joined, hits, ways = [*a, *b], 0, 0
    for chosen in combinations(range(len(joined)), len(a)):
        first = [joined[i] for i in chosen]
        second = [joined[i] for i in range(len(joined)) if i not in chosen]
        ways += 1
        hits += distance(first, second) >= distance(a, b) - 1e-9
    assert logrank(a, b) == pytest.approx(hits / ways)


def test_all_against_none_of_five_is_two_of_252():
    """The asymptotic test says 0.0018: four times too sure."""
    a = [Time(t, True) for t in (4, 5, 6, 7, 8)]
    b = [Time(30, False)] * 5
    assert logrank(a, b) == pytest.approx(2 / 252)
    assert stats.logrank(censored(a), censored(b)).pvalue == pytest.approx(0.0018, abs=1e-4)


def test_a_large_comparison_is_drawn_and_near_the_asymptotic_one():
    generator = np.random.default_rng(1)
    a = [Time(t, True) for t in generator.exponential(10, 60)]
    b = [Time(t, True) for t in generator.exponential(15, 60)]
    groups = np.repeat([0, 1], 60)
    at = np.array([t.iteration for t in [*a, *b]])
    _, asymptotic = survdiff(at, np.ones(120), groups)
    assert logrank(a, b) == logrank(a, b)
    assert logrank(a, b) == pytest.approx(asymptotic, abs=0.01)
    apart = [Time(t.iteration + 1000, True) for t in b]
    assert logrank(a, apart) == smallest_p(60, 60)


def test_what_few_seeds_can_say_at_best():
    assert smallest_p(5, 5) == pytest.approx(2 / 252)
    assert smallest_p(4, 4) == pytest.approx(2 / 70)
    assert smallest_p(3, 3) == pytest.approx(0.1)
    assert smallest_p(1, 1) == 1
    assert smallest_p(1, 5) == pytest.approx(1 / 6)
    assert range_coverage(5) == pytest.approx(0.9375)
    assert range_coverage(0) == 0
