"""Rows at W&B against the journal: what is missing, doubled or taken back."""

import math

from hypothesis import given
from hypothesis import strategies as st

from s2m.run.metrics import merge
from s2m.tracking.history import REWIND, missing, replay


def table(rows):
    return merge(None, rows, math.inf)


def as_sent(limit, rows):
    """Write entries as the session logs them."""
    sent = [] if limit is None else [{REWIND: limit, "iteration": 99}]
    return sent + [{"iteration": i, **row} for i, row in rows]


def test_the_last_row_of_an_iteration_holds():
    rows = [{"iteration": 1, "a": 1.0}, {"iteration": 2, "a": 2.0}, {"iteration": 1, "a": 3.0}]
    assert replay(rows).to_pydict() == {"iteration": [1, 2], "a": [3.0, 2.0]}


def test_a_rewind_voids_what_came_before_it():
    rows = [{"iteration": i, "a": float(i)} for i in range(1, 6)]
    found = replay([*rows, {REWIND: 2, "iteration": 5}, {"iteration": 3, "a": 9.0}])
    assert found.to_pydict() == {"iteration": [1, 2, 3], "a": [1.0, 2.0, 9.0]}


def test_what_is_not_in_the_journal_is_not_read_as_such():
    rows = [
        {"iteration": 1, "a": 1, "_step": 0, "threshold/margin": 0.3, "throughput/x": 5.0},
        {"iteration": 1, "media/success": {"_type": "table-file"}, "_step": 1},
    ]
    assert replay(rows).to_pydict() == {"iteration": [1], "a": [1.0]}


def test_a_value_that_is_no_number_stays_one():
    journal = table({1: {"a": math.nan, "b": math.inf}, 2: {"b": 1.0}})
    rows = [{"iteration": 1, "a": "NaN", "b": "Infinity"}, {"iteration": 2, "a": None, "b": 1}]
    assert missing(journal, replay(rows)) == (None, [])
    assert missing(journal, table({1: {"b": math.inf}, 2: {"b": 1.0}}))[1][0][0] == 1


ROWS = st.dictionaries(
    st.integers(1, 12),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([0.0, 1.5, math.nan]), min_size=1),
)


@given(ROWS, ROWS)
def test_sending_what_is_missing_makes_both_equal(journal, mirrored):
    limit, rows = missing(table(journal), table(mirrored))
    history = as_sent(None, sorted(mirrored.items())) + as_sent(limit, rows)
    assert missing(table(journal), replay(history)) == (None, [])
    # Nothing that is there already goes again, unless a rewind took it along.
    if limit is None:
        same = [i for i, row in rows if i in mirrored and repr(row) == repr(mirrored[i])]
        assert not same
