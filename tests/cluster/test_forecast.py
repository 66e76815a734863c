"""What a sweep will cost, from runs of the same kind."""

from dataclasses import replace
from typing import Any

import pytest

from s2m.cluster.cells import expand
from s2m.cluster.forecast import estimate
from s2m.cluster.plan import make_plan
from tests.analysis.synthetic import Spec, write_run
from tests.words import latest

RATES = {k: (1, 1) for k in range(1, 6)}
MEASURED: dict[str, Any] = {"iterations": 60, "episodes": 1, "rates": RATES}


def plan(root, *words):
    words = latest("sim=mujoco", "budget.num_envs=4096", f"root={root}", *words)
    return make_plan(expand(words).compose(), None)


@pytest.fixture
def root(tmp_path):
    """Runs of two encoders, of which one takes three times as long."""
    for seed in (1, 2):
        write_run(tmp_path, Spec("pfds", seed, seconds=2.0, **MEASURED))
    write_run(tmp_path, Spec("dshc", 3, seconds=6.0, **MEASURED))
    return tmp_path


@pytest.mark.parametrize(
    ("encoder", "seconds"), [("pfds", 2.0), ("dshc", 6.0), ("flat_mlp", 10 / 3)]
)
def test_runs_of_the_same_encoder_decide_before_all_of_the_kind(root, encoder, seconds):
    cells = plan(root, "budget=paper", "budget.iterations=100", f"encoder={encoder}", "seed=7,8")
    cost = estimate(cells, root)
    assert cost.measured and cost.seconds == pytest.approx(2 * 100 * seconds)
    sizes = [
        sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        for run in (root / "encoders").iterdir()
        if run.name.startswith(encoder)
    ]
    if sizes:
        assert cost.bytes == pytest.approx(2 * sum(sizes) / len(sizes))


def test_what_is_done_already_costs_nothing_more(root):
    (cell,) = plan(root, "budget=paper", "budget.iterations=100")
    begun = replace(cell, state=replace(cell.state, status="stopped", iteration=60))
    assert estimate([cell], root).seconds == pytest.approx(200.0)
    assert estimate([begun], root).seconds == pytest.approx(80.0)


def test_of_another_budget_or_simulator_nothing_is_known(root):
    assert estimate(plan(root, "budget=desktop"), root) is None
    assert estimate(plan(root, "budget=paper", "sim=dummy"), root) is None


def test_a_run_that_has_not_finished_measures_nothing(tmp_path):
    write_run(tmp_path, Spec(state="stopped", iteration=60))
    assert estimate(plan(tmp_path, "budget=paper"), tmp_path) is None
