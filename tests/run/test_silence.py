"""When a run that is under way has been silent for too long."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from s2m.run.journal import Journal
from s2m.run.lock import Attempt
from s2m.run.silence import START, age_of_last_row, silent_for


def attempt(begun):
    """An attempt that began so many seconds ago."""
    started = (datetime.now(UTC) - timedelta(seconds=begun)).isoformat()
    return Attempt(1, "", "host", 1, started, None)


def test_the_age_is_that_of_the_last_row(folder):
    assert age_of_last_row(folder) is None
    Journal(folder).append(1, {"loss": 1.0})
    os.utime(folder.journal, (1000.0, 1000.0))
    assert age_of_last_row(folder, now=1090.0) == 90.0
    assert age_of_last_row(folder, now=990.0) == 0.0  # the clock of another machine


@pytest.mark.parametrize(
    ("age", "seconds", "silent"),
    [(59.0, 1.0, False), (61.0, 1.0, True), (190.0, 10.0, False), (210.0, 10.0, True)],
)
def test_it_is_silent_after_many_times_an_iteration(age, seconds, silent):
    assert silent_for(attempt(3600), age, seconds) == (age if silent else None)


def test_the_start_of_an_attempt_has_its_time():
    early, late = attempt(START / 2), attempt(START + 60)
    for age, seconds in [(None, None), (9999.0, 1.0)]:  # no row yet, or those of an earlier attempt
        assert silent_for(early, age, seconds) is None
        assert silent_for(late, age, seconds) == pytest.approx(START + 60, abs=30)
