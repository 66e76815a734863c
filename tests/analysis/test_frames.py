import numpy as np
import pytest

from analysis.frames import ELAPSED, Curves
from analysis.sources.local import load
from tests.analysis.synthetic import Spec, write_run


def test_a_curve_has_the_points_at_which_it_has_a_value():
    values = np.array([1.0, np.nan, 3.0, np.inf])
    curves = Curves(np.array([5, 6, 7, 8]), {"loss": values})
    at, found = curves.get("loss")
    assert at.tolist() == [5, 7] and found.tolist() == [1.0, 3.0]
    assert [len(part) for part in curves.get("absent")] == [0, 0]


def test_the_time_of_an_iteration_is_the_sum_of_all_before_it(tmp_path):
    write_run(tmp_path, Spec(iterations=50, seconds=2.0))
    (run,) = load(tmp_path).runs
    assert run.seconds == pytest.approx(100.0)
    at, seconds = run.curves.get(ELAPSED)
    assert at[-1] == 50 and run.elapsed(50) == pytest.approx(seconds[-1]) == pytest.approx(100.0)
    assert run.elapsed(51) is None


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"state": "running", "iteration": 5}, "running"),
        ({"state": "failed", "iteration": 5}, "failed"),
        ({}, "pending"),
        ({"rates": {k: (1, 1) for k in range(1, 6)}}, "not evaluated"),
    ],
)
def test_a_rate_that_is_missing_has_its_word(tmp_path, given, word):
    write_run(tmp_path, Spec(iterations=50, episodes=2, **given))
    (run,) = load(tmp_path).runs
    assert run.missing == word
