"""Metrics of which some are lost are refused."""

import pyarrow
import pytest

from analysis.sources.metrics import read_metrics
from s2m.console.errors import UserError
from s2m.run.metrics import write_table
from tests.analysis.synthetic import Spec, write_run

DONE = {"iterations": 6}


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path, Spec(state="stopped", iteration=0))


def write(folder, iterations):
    write_table(
        folder.metrics, pyarrow.table({"iteration": iterations, "a": [0.5] * len(iterations)})
    )


def test_a_finished_run_has_a_row_for_every_iteration(folder):
    write(folder, range(1, 7))
    table = read_metrics(folder, ["a"], DONE)
    assert table.column_names == ["iteration", "a"] and len(table) == 6


@pytest.mark.parametrize(
    ("iterations", "line"),
    [
        ([1, 2, 3, 4, 5], "end at iteration 5 of 6"),
        ([1, 2, 3, 4, 5, 6, 7], "end at iteration 7 of 6"),
        ([1, 2, 4, 5, 6], "have 5 of 6 iterations"),
        ([0, 2, 3, 4, 5, 6], "have 6 of 6 iterations"),
    ],
)
def test_lost_rows_of_a_finished_run_are_told(folder, iterations, line):
    write(folder, iterations)
    with pytest.raises(UserError, match=f"its metrics {line}"):
        read_metrics(folder, ["a"], DONE)


def test_a_run_that_goes_on_may_have_any_rows(folder):
    assert len(read_metrics(folder, ["a"], None)) == 0
    write(folder, [1, 2])
    assert len(read_metrics(folder, ["a"], None)) == 2


def test_a_table_that_is_gone_beside_checkpoints_is_told(folder):
    (folder.checkpoints / "000000002.pt").touch()
    with pytest.raises(UserError, match="its metrics.parquet is gone"):
        read_metrics(folder, ["a"], None)
