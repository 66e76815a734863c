"""Tests over seeds against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from analysis.stats.units import equivalence, p_values, permutation, power, welch

A, B = [0.91, 0.95, 0.97, 1.0, 0.92], [1.0, 0.99, 1.0, 0.98, 1.0]


def _gap(a, b, axis):
    return np.mean(a, axis=axis) - np.mean(b, axis=axis)


@pytest.mark.parametrize("sizes", [(5, 5), (3, 6), (2, 2), (4, 7)])
def test_exact_permutation_is_scipy_s(sizes):
    generator = np.random.default_rng(sum(sizes))
    a, b = (np.round(generator.normal(size=n), 1) for n in sizes)
    # |difference| and "greater": scipy's "two-sided" doubles the smaller tail instead.
    other = stats.permutation_test(
        (a, b), lambda x, y, axis: np.abs(_gap(x, y, axis)), n_resamples=10**6,
        alternative="greater", vectorized=True,
    ).pvalue  # fmt: skip
    assert permutation(a, b) == pytest.approx(other)


def test_many_labellings_are_drawn():
    generator = np.random.default_rng(2)
    a, b = generator.normal(size=14), generator.normal(0.8, size=14)
    other = stats.ttest_ind(a, b, equal_var=False)[1]
    assert permutation(a, b) == pytest.approx(other, abs=0.02)
    assert permutation(a, b + 100) == pytest.approx(1 / 20_001)


def test_equal_runs_differ_by_nothing():
    assert permutation([1.0] * 5, [1.0] * 5) == 1


def test_welch_and_its_interaction():
    assert welch([A, B], (1, -1)) == pytest.approx(stats.ttest_ind(A, B, equal_var=False)[1])
    # Four cells of equal size and spread: a one-sample t of the combination has fewer degrees.
    cells = [np.array(A) + shift for shift in (0, 0.1, 0.3, 0.5)]
    value = 0 - 0.1 - 0.3 + 0.5
    error = np.sqrt(4 * np.var(A, ddof=1) / 5)
    expected = 2 * stats.t.sf(value / error, 16)
    assert welch([list(c) for c in cells], (1, -1, -1, 1)) == pytest.approx(expected)
    assert welch([[1.0], B], (1, -1)) is None


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
def test_equivalence_is_statsmodels_tost(margin):
    other = ttost_ind(np.array(A), np.array(B), -margin, margin, usevar="unequal")[0]
    assert equivalence(A, B, margin) == pytest.approx(other)
    assert equivalence([1.0, 1.0], [1.0, 1.0], margin) is None


def test_the_p_values_of_many_studies_are_those_of_each():
    generator = np.random.default_rng(4)
    one, two = generator.normal(size=(20, 5)), generator.normal(1.0, size=(20, 5))
    each = [permutation(a, b) for a, b in zip(one, two, strict=True)]
    assert p_values(one, two) == pytest.approx(each)


def test_power_by_an_independent_simulation():
    """Normal runs, Welch's t: at 10 seeds a side it decides nearly as the permutation does."""
    generator = np.random.default_rng(11)
    studies = [generator.normal(np.mean(x), np.std(x, ddof=1), size=(4000, 10)) for x in (A, B)]
    p = np.asarray(stats.ttest_ind(*studies, axis=1)[1])
    assert power(A, B, 10, 0.05 / 7) == pytest.approx(np.mean(p <= 0.05 / 7), abs=0.04)


def test_power_knows_what_few_seeds_cannot_give():
    """5 against 5 seeds give at least 2/252, which is more than 0.05/7."""
    assert power(A, [x + 10 for x in A], 5, 0.05 / 7) == 0
    assert power(A, [x + 10 for x in A], 6, 0.05 / 7) == 1
    assert power([0.95] * 3, [0.95] * 3, 6, 0.05) == 0
    assert power(A, A, 6, 0.05) == pytest.approx(0.05, abs=0.02)
