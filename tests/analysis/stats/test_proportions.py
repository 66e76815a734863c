"""Differences of rates against statsmodels and scipy, and numbers a reader can check by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from analysis.stats.proportions import (
    Pairs,
    combination,
    episodes_needed,
    fisher,
    new_run,
    newcombe,
    newcombe_paired,
)
from s2m.run.rates import Count, Interval, wilson

counts = st.integers(1, 300).flatmap(lambda n: st.integers(0, n).map(lambda hits: Count(hits, n)))


@given(counts, counts)
def test_newcombe_is_that_of_statsmodels(a, b):
    difference, interval = newcombe(a, b)
    expected = confint_proportions_2indep(a.hits, a.n, b.hits, b.n, method="newcomb")
    assert difference == pytest.approx(a.rate - b.rate)
    assert interval == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, 2635-2650; the correlation is negative.
        (Pairs(36, 12, 2, 0), 0.0569, 0.3404),
        # Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33, 2850-2875; positive.
        (Pairs(1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_paired_rates_are_those_of_the_literature(pairs, low, high):
    value, interval = newcombe_paired(pairs)
    assert value == pytest.approx((pairs.first - pairs.second) / sum(pairs))
    assert interval == pytest.approx((low, high), abs=5e-4)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3))
def test_uncorrelated_pairs_are_as_independent_rates(p, q, factor):
    """Cells that are products of their margins have no correlation."""
    pairs = Pairs(p * q, factor * p, factor * q, factor * factor)
    n = sum(pairs)
    a, b = Count(pairs.both + pairs.first, n), Count(pairs.both + pairs.second, n)
    assert pairs.both * pairs.neither == pairs.first * pairs.second
    assert newcombe_paired(pairs)[1] == pytest.approx(newcombe(a, b)[1])


@given(*[st.integers(0, 50)] * 4)
def test_swapping_policies_or_successes_mirrors_the_interval(both, first, second, neither):
    if both + first + second + neither == 0:
        return
    value, (low, high) = newcombe_paired(Pairs(both, first, second, neither))
    mirrored = pytest.approx((-high, -low), abs=1e-12)
    assert newcombe_paired(Pairs(both, second, first, neither))[1] == mirrored
    assert newcombe_paired(Pairs(neither, second, first, both))[1] == mirrored
    assert -1 - 1e-9 <= low <= value <= high <= 1 + 1e-9


def test_policies_that_always_agree_differ_less_than_independent_ones():
    _, (low, high) = newcombe_paired(Pairs(70, 0, 0, 30))
    _, independent = newcombe(Count(70, 100), Count(70, 100))
    assert -low == pytest.approx(high) and high < 0.35 * independent.high
    # Without failures there is no correlation to see.
    assert newcombe_paired(Pairs(9, 0, 0, 0))[1] == newcombe(Count(9, 9), Count(9, 9))[1]


def test_two_points_are_no_difference_at_a_hundred_episodes():
    difference, interval = newcombe(Count(100, 100), Count(98, 100))
    assert difference == pytest.approx(0.02)
    assert [round(100 * x, 1) for x in interval] == [-2.0, 7.0]


def test_interaction_of_rates_widens_with_each_cell():
    """By hand: equal cells, so each of four adds the same square to the half width."""
    cell = Count(50, 100)
    low, high = wilson(cell)
    value, interval = combination([cell] * 4, (1, -1, -1, 1))
    assert value == 0
    assert interval == pytest.approx((-2 * (0.5 - low), 2 * (high - 0.5)))


@given(counts, counts)
def test_fisher_is_that_of_scipy(a, b):
    table = [[a.hits, a.n - a.hits], [b.hits, b.n - b.hits]]
    assert fisher(a, b) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-6)


def test_fisher_by_hand():
    """All of 5 against none of 5: two of the 252 ways to place five successes."""
    assert fisher(Count(5, 5), Count(0, 5)) == pytest.approx(2 / 252)
    assert fisher(Count(100, 100), Count(98, 100)) == pytest.approx(0.4975, abs=1e-4)


@pytest.mark.parametrize(("p", "q"), [(0.98, 1.0), (0.5, 0.7), (0.9, 0.8)])
def test_the_sample_size_gives_its_power(p, q):
    """The power of Fisher's test at that size, summed over all outcomes that are not rare."""
    n = episodes_needed(p, q)
    x = np.arange(n + 1)
    likely = [[(i, w) for i, w in enumerate(stats.binom.pmf(x, n, r)) if w > 1e-5] for r in (p, q)]
    power = sum(
        w * v for i, w in likely[0] for j, v in likely[1] if fisher(Count(i, n), Count(j, n)) < 0.05
    )
    assert 0.72 < power < 0.85


def test_the_sample_size_by_hand():
    assert episodes_needed(0.98, 1.0) == 388
    assert episodes_needed(0.98, 1.0) == episodes_needed(1.0, 0.98)
    with pytest.raises(ValueError, match="equal"):
        episodes_needed(0.5, 0.5)


def test_an_interval_knows_what_it_holds():
    assert 0.5 in Interval(0.5, 1)
    assert 0.4 not in Interval(0.5, 1)
    assert "0.5" not in Interval(0, 1)


@pytest.mark.parametrize(
    ("mean", "spread", "width"), [(0.9, 0.02, 0.23), (0.75, 0.1, 0.6), (0.5, 0.0, 0.35)]
)
def test_one_more_run_lies_where_it_is_predicted(mean, spread, width):
    """Five runs of 100 episodes, then a sixth: the interval holds it in at least 95 of 100."""
    generator = np.random.default_rng(0)
    rates = np.clip(generator.normal(mean, spread, (1500, 6)), 0, 1)
    hits = generator.binomial(100, rates)
    found = [new_run([Count(int(x), 100) for x in h[:5]], 100) for h in hits]
    assert np.mean([h[5] / 100 in i for h, i in zip(hits, found, strict=True)]) > 0.945
    assert np.mean([i.high - i.low for i in found]) < width


def test_one_run_predicts_nothing():
    with pytest.raises(ValueError, match="how runs differ"):
        new_run([Count(98, 100)], 100)
