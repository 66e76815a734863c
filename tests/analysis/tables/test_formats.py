"""Cells by hand: one run, several seeds, runs that never arrived."""

import math

import pytest

from analysis.stats.survival import Time
from analysis.tables.formats import (
    advancement,
    hours,
    iterations,
    level,
    p_value,
    rate,
    short,
    signed,
)
from s2m.run.rates import Count, Interval

CENSORED = Time(30_000, False)


def test_a_rate_of_one_run_has_an_episode_interval_and_of_several_a_seed_range():
    assert rate([Count(98, 100)]).text == "98% [93, 99]"
    assert rate([Count(98, 100), Count(94, 100), Count(100, 100)]).text == "97.3% (94–100)"
    assert rate([Count(1, 3), Count(2, 3)]).text == "50% (33.3–66.7)"


def test_a_cell_says_on_how_many_of_the_finished_runs_it_rests():
    assert rate([Count(50, 100)], 5).text == "50% [40, 60] (1/5)"
    assert rate([Count(90, 100), Count(90, 100)], 5).text == "90% (90–90; 2/5)"
    assert rate([Count(90, 100), Count(90, 100)], 2).text == "90% (90–90)"
    assert level([2, 5], finished=3).text == "2 (2–5; 2/3)"
    assert level([5], finished=3).text == "5 (1/3)"


def test_levels():
    assert level([5]).text == "5"
    assert level([2, 2]).tex == "$2$"
    assert level([2, 2], top=5).tex == r"$\le 2$"
    assert level([5], top=5).text == "5"
    assert level([2, 5, 5]).text == "5 (2–5)"
    assert level([4, 5]).text == "4 (4–5)"


@pytest.mark.parametrize(
    ("times", "text"),
    [
        ([Time(7400, True)], "~7.4k"),
        ([CENSORED], "—"),
        ([Time(3900, True), Time(5000, True), Time(4100, True)], "~4.3k (3.9–5.0; 3/3)"),
        ([Time(3900, True), Time(5000, True), CENSORED], "≥ ~13.0k (3.9–>30.0; 2/3)"),
        ([Time(3900, True), CENSORED, CENSORED], "≥ ~21.3k (3.9–>30.0; 1/3)"),
        ([CENSORED, CENSORED], "— (0/2)"),
    ],
)
def test_advancement(times, text):
    assert advancement(times, 30_000).text == text


def test_small_budgets_show_whole_iterations():
    assert iterations(87, 600).text == "87"
    assert advancement([Time(87, True), Time(600, False)], 600).text == "≥ 344 (87–>600; 1/2)"


def test_differences():
    assert signed(0.12, Interval(0.03, 0.2), 1, 100, 1).text == "+12.0 [3.0, 20.0]"
    assert signed(-1500.4, Interval(-3000, 20), 2000).text == "−1500 [−2000, 20]"
    for mean in (0.0875, 0.0875 - 1e-15, 0.0875 + 1e-15):
        assert signed(mean, Interval(-mean, mean), 1, 100, 1).text == "+8.8 [−8.8, 8.8]"
    assert signed(-1e-12, Interval(-1e-12, -1e-12), 1, 100, 1).text == "+0.0 [no spread]"
    assert signed(3, Interval(1, 5), 10, mark="‡").text == "+3 [1, 5]‡"
    assert signed(3, Interval(-math.inf, math.inf), 10).text == "+3 [one seed]"


def test_small_things():
    assert (short(97.5), short(98.0)) == ("97.5", "98")
    assert (p_value(2 / 252), p_value(0.0001), p_value(0.4)) == ("0.0079", "< 0.001", "0.4")
    assert (hours(30), hours(1200), hours(36_000)) == ("30 s", "20.0 min", "10.0 h")
