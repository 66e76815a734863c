"""Differences of cell means against scipy, Holm against statsmodels."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.stats.contrasts import contrast, holm


@settings(max_examples=15, deadline=None)  # statsmodels takes 60 ms for a handful of numbers
@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_is_that_of_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_holm_counts_planned_tests_that_are_not_there_yet():
    assert holm([0.01, 0.04], 4) == pytest.approx(holm([0.01, 0.04, 1, 1])[:2])
    assert holm([0.01, 0.04], 4) == pytest.approx([0.04, 0.12])


def test_a_difference_is_welch_s():
    generator = np.random.default_rng(3)
    a, b = generator.normal(5, 1, 5), generator.normal(4, 3, 8)
    found = contrast([a.tolist(), b.tolist()], (1, -1))
    expected: Any = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval()
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert found.interval == pytest.approx((interval.low, interval.high))
    assert found.freedom == pytest.approx(expected.df)


def test_the_interaction_with_equal_cells_is_the_textbook_one():
    """Four cells of equal spread: the standard error is 2 s / sqrt(n), with 4 (n - 1) freedom."""
    base = np.array([-1.0, 0.0, 1.0])
    found = contrast([(base + mean).tolist() for mean in (10, 4, 3, 1)], (1, -1, -1, 1))
    half = stats.t.ppf(0.975, 8) * 2 / math.sqrt(3)
    assert found.value == pytest.approx(10 - 4 - 3 + 1)
    assert found.freedom == pytest.approx(8)
    assert found.interval == pytest.approx((4 - half, 4 + half))


def test_without_spread_or_with_one_run_the_interval_says_so():
    censored = contrast([[30, 30], [30, 30]], (1, -1))
    assert censored.value == 0
    assert censored.interval == (0, 0)
    assert math.isnan(censored.freedom)
    assert not censored.one_sided
    assert contrast([[94, 95, 101], [500, 500, 500]], (1, -1)).one_sided
    assert not contrast([[94, 95, 101], [500, 480, 500]], (1, -1)).one_sided
    single = contrast([[30], [10, 12]], (1, -1))
    assert single.value == 19
    assert single.interval == (-math.inf, math.inf)
