"""The runs of one row: which of them count, and for what."""

import pytest

from analysis.frames import Run
from analysis.sources.local import load
from analysis.study import make_study
from tests.analysis.synthetic import Spec, write_run


@pytest.fixture
def cohort(tmp_path):
    """Return a function that reads PFDS runs with some properties, one per seed."""

    def read(*properties):
        for seed, given in enumerate(properties):
            write_run(tmp_path, Spec(seed=seed, iterations=90, episodes=10, **given))
        return make_study(load(tmp_path)).cohorts["pfds"]

    return read


def rates(**no_drop):
    """Return rates by number of balls: k1=3 is 3 of 10 episodes without a drop."""
    return {int(name[1:]): (0, hits) for name, hits in no_drop.items()}


FULL = rates(k1=9, k2=8, k3=7, k4=4, k5=1)


def test_only_finished_runs_enter_a_statistic(cohort):
    found = cohort(
        {"levels": {2: 10, 3: 40}, "rates": FULL},
        {"levels": {2: 20}, "rates": FULL},
        {"levels": {2: 5, 3: 6, 4: 7}, "state": "failed", "iteration": 50},
        {"state": "running", "iteration": 5},
    )
    assert found.levels() == [3, 2] and len(found.evaluated) == 2
    assert [(t.iteration, t.reached) for t in found.times(3)] == [(40, True), (90, False)]
    assert found.progress == "2/4, 1 running, 1 failed"


def test_successes_are_counted_per_run_and_pooled(cohort):
    found = cohort({"rates": FULL}, {"rates": rates(k1=1, k2=2, k3=3, k4=4, k5=5)})
    counts = found.counts(2, "no_drop")
    assert [(count.hits, count.n) for count in counts] == [(8, 10), (2, 10)]
    pooled = found.pooled(2, "no_drop")
    assert (pooled.hits, pooled.n) == (10, 20)
    assert found.pooled(2, "strict").hits == 0


def test_mastered_is_the_largest_number_of_balls_at_half_the_episodes(cohort):
    found = cohort(
        {"rates": FULL},
        {"rates": rates(k1=4, k2=4, k3=4, k4=4, k5=4)},
        {"rates": rates(k1=5, k2=4, k3=4, k4=4, k5=5)},
    )
    assert found.mastered(5) == [3, 0, 5]


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (["pending"], "pending"),
        (["pending", "failed"], "failed"),
        (["failed", "stopped"], "stopped"),
        (["failed", "stopped", "running"], "running"),
    ],
)
def test_a_cell_without_a_finished_run_says_how_far_the_furthest_is(cohort, states, word):
    found = cohort(*({"state": state, "iteration": 5} for state in states))
    assert found.missing == found.unjudged == word
    assert found.levels() == [] and found.pooled(5, "no_drop").n == 0


def test_a_finished_run_that_was_not_judged_says_so(cohort):
    found = cohort({"levels": {2: 10}})
    assert found.levels() == [2] and found.unjudged == "pending" and found.mastered(5) == []


def test_a_level_was_reached_with_any_higher_one(cohort):
    found = cohort({"levels": {2: 10, 4: 30}, "rates": FULL})
    (run,) = found.runs
    assert isinstance(run, Run)
    assert [run.began(k) for k in range(1, 6)] == [0, 10, 30, 30, None]
    assert run.level == 4 and run.budget == 90
