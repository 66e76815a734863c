"""Where a run stands by its folder alone."""

from dataclasses import replace

import pytest

from s2m.run.events import Events
from s2m.run.lock import Attempt, RunLock, current_attempt
from s2m.run.status import CODES, FAILED, failure_of, outcome_of, standing, status_of
from tests.analysis.synthetic import Spec, write_run

MINE = Attempt(2, "0" * 16, "elsewhere", 1, "2026-01-01T00:00:00+00:00", None)


@pytest.mark.parametrize("state", ["pending", "running", "stopped", "failed"])
def test_a_run_stands_where_its_attempt_left_it(tmp_path, state):
    assert status_of(write_run(tmp_path, Spec(state=state, iteration=5))) == state


def test_a_run_is_finished_when_it_is_evaluated(tmp_path):
    rates = {k: (1, 2) for k in range(1, 6)}
    spec = Spec(iterations=9, episodes=4, rates=rates)
    assert status_of(write_run(tmp_path / "whole", spec)) == "finished"
    assert status_of(write_run(tmp_path / "half", replace(spec, rates=None))) == "stopped"


def test_a_process_of_this_machine_runs_until_it_ends(folder):
    with RunLock.acquire(folder):
        assert standing(folder, []) == ("running", "")
    assert standing(folder, []) == ("stopped", "")


def test_only_the_failure_of_the_last_attempt_counts(folder):
    for attempt in range(2):
        with RunLock.acquire(folder) as lock:
            if attempt == 0:
                Events(folder, lock.attempt.number).append("failed", reason="out of memory")
        failed = ("failed", "out of memory") if attempt == 0 else ("stopped", "")
        assert standing(folder, Events(folder).read()) == failed
    assert current_attempt(folder).number == 2


def test_the_last_reason_of_an_attempt_is_told():
    events = [
        {"kind": "failed", "attempt": 1, "reason": "earlier"},
        {"kind": "failed", "attempt": 2, "reason": "first"},
        {"kind": "failed", "attempt": 2, "reason": "last"},
        {"kind": "stopped", "attempt": 2, "reason": "SIGTERM"},
    ]
    assert failure_of(MINE, events) == "last"
    assert failure_of(MINE, events[:1]) == ""
    assert failure_of(MINE, [{"kind": "failed", "attempt": 2}]) == "no reason given"


def test_exit_codes_and_words_are_each_other_s_inverse():
    assert all(outcome_of(code) == word for word, code in CODES.items())
    assert outcome_of(-9) == outcome_of(2) == FAILED
