"""Levels and rounds of a run, from its events and, where these are lost, from its metrics."""

import math

import pyarrow
import pytest

from s2m.console.errors import UserError
from s2m.run.milestones import LEVEL, level_changes, rates_of, rounds


def level(number, iteration):
    return {"kind": "level", "level": number, "iteration": iteration}


def table(levels, first=1):
    iterations = range(first, first + len(levels))
    return pyarrow.table({"iteration": list(iterations), LEVEL: [float(n) for n in levels]})


def test_levels_are_told_by_events_in_their_order():
    events = [level(3, 50), {"kind": "stopped", "iteration": 9}, level(2, 20)]
    assert list(level_changes(events).items()) == [(2, 20), (3, 50)]
    assert level_changes([]) == {}


def test_a_level_whose_event_is_lost_is_found_in_the_metrics():
    found = level_changes([level(2, 3)], table([1, 1, 2, 4, 4]))
    assert found == {2: 3, 3: 4, 4: 4}


def test_an_event_is_believed_before_the_metrics():
    assert level_changes([level(2, 2)], table([1, 1, 2])) == {2: 2}


def test_a_level_left_again_began_where_it_was_first_reached():
    assert level_changes([], table([1, 2, 1, 2], first=10)) == {2: 11}


def test_the_level_of_the_start_is_no_change():
    assert level_changes([], table([3, 3, 4]), start=3) == {4: 3}


def test_rows_without_a_level_are_passed_over():
    assert level_changes([], table([math.nan, 1, 2])) == {2: 3}
    assert level_changes([level(2, 7)], pyarrow.table({"iteration": [1]})) == {2: 7}


@pytest.mark.parametrize("last", [6, math.inf])
def test_a_level_beyond_the_highest_is_damage(last):
    with pytest.raises(UserError, match=f"level {last} is beyond 5"):
        level_changes([], table([1, last]))


def test_a_round_stands_in_the_row_it_ended_with():
    rows = {
        "iteration": [4, 5, 6],
        "distill/round": [0.0, 0.0, 1.0],
        "round/no_drop_1": [None, 0.5, None],
        "round/no_drop_2": [None, None, 0.25],
    }
    assert rounds(pyarrow.table(rows)) == [
        {"round": 0, "iteration": 5, "round/no_drop_1": 0.5},
        {"round": 1, "iteration": 6, "round/no_drop_2": 0.25},
    ]


def test_a_rate_of_zero_is_a_rate():
    row = {"round/strict_1": 0.0, "round/strict_2": None, "distill/round": 1.0}
    assert rates_of(row) == {"round/strict_1": 0.0}
