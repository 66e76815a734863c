"""Rates against statsmodels and scipy, and the numbers a reader can check by hand."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from s2m.config.curriculum import CRITERIA
from s2m.run.rates import COLUMNS, Count, Interval, rates_by_balls, rates_of_rows, wilson

counts = st.integers(1, 300).flatmap(lambda n: st.integers(0, n).map(lambda hits: Count(hits, n)))


@given(counts)
def test_wilson_is_that_of_statsmodels_and_scipy(count):
    low, high = proportion_confint(count.hits, count.n, method="wilson")
    other = stats.binomtest(count.hits, count.n).proportion_ci(method="wilson")
    assert wilson(count) == pytest.approx((low, high), abs=1e-12)
    assert wilson(count) == pytest.approx((other.low, other.high), abs=1e-12)
    assert count.rate in wilson(count)


def test_wilson_at_the_rates_of_the_paper():
    assert [round(100 * x, 1) for x in wilson(Count(98, 100))] == [93.0, 99.4]
    assert [round(100 * x, 1) for x in wilson(Count(100, 100))] == [96.3, 100.0]
    assert [round(100 * x, 1) for x in wilson(Count(0, 100))] == [0.0, 3.7]
    assert [round(100 * x, 1) for x in wilson(Count(75, 100))] == [65.7, 82.5]
    assert [round(100 * x, 1) for x in wilson(Count(54, 100))] == [44.3, 63.4]
    assert wilson(Count(0, 0)) == (0, 1)
    assert math.isnan(Count(0, 0).rate)


def test_an_interval_holds_its_ends_and_no_words():
    ends = Interval(0.25, 0.5)
    assert 0.25 in ends and 0.5 in ends and 0.51 not in ends and "0.3" not in ends


# Two episodes with three balls, one of them short, and one with a single ball, in no order.
TABLE = {
    "k": np.array([3, 1, 3]),
    "strict": np.array([False, True, False]),
    "no_drop": np.array([False, True, True]),
    "dropped": np.array([True, False, False]),
    "fell": np.array([True, False, False]),
    "unstable": np.array([False, False, False]),
    "steps": np.array([10, 40, 40]),
    "linear_error": np.array([0.6, 0.2, 0.1]),
    "yaw_error": np.array([0.0, 0.3, 0.5]),
    "minimum_margin": np.array([-0.1, 0.8, 0.4]),
    "near_edge_steps": np.array([10, 0, 5]),
    "outside_steps": np.array([4, 0, 1]),
}


def test_episodes_are_summed_up_per_number_of_balls():
    found = rates_by_balls(TABLE)
    assert list(found) == [1, 3]
    three = found[3]
    assert three.successes() == {"n": 2, "strict": 0, "no_drop": 1}
    assert (three.dropped, three.fell, three.unstable) == (1, 1, 0)
    assert three.count("no_drop") == Count(1, 2)
    # Means over episodes: both count alike.
    means = (three.steps, three.linear_error, three.yaw_error, three.minimum_margin)
    assert means == pytest.approx((25, 0.35, 0.25, 0.15))


def test_promotion_measures_are_means_over_steps_and_the_length_over_episodes():
    measured = rates_by_balls(TABLE)[3].criteria(episode_steps=40)
    assert tuple(measured) == CRITERIA
    assert measured == pytest.approx(
        {
            "length_ratio": 50 / 2 / 40,
            "margin": (10 * -0.1 + 40 * 0.4) / 50,
            "dangerous": 15 / 50,
            "edge": 5 / 50,
            "linear_error": (10 * 0.6 + 40 * 0.1) / 50,
            "yaw_error": 40 * 0.5 / 50,
        }
    )


def test_rows_are_the_same_as_columns():
    rows = [{name: TABLE[name][i].item() for name in COLUMNS} | {"run": "a"} for i in range(3)]
    assert rates_of_rows(rows) == rates_by_balls(TABLE)


def test_rates_need_no_training_libraries():
    program = (
        "import sys, s2m.run.rates\nsys.exit('torch' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
