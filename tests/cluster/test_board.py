"""What a pool shows: the runs at work with their criteria, the others counted."""

import io
from dataclasses import asdict

import pytest
from rich.console import Console

from s2m.cluster.board import Board
from s2m.cluster.state import RunState, glance
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.run.folder import RunFolder
from s2m.run.status import RUNNING

CRITERIA = {"length_ratio": 0.95, "margin": 0.4, "dangerous": 0.9}


@pytest.fixture
def run(tmp_path):
    words = ["budget.num_envs=100", "budget.steps=10"]
    return RunFolder.create(tmp_path / "pfds-s40-12345678", asdict(load(RunCfg, words)))


@pytest.fixture
def state():
    return RunState(
        RUNNING, iteration=20, total=120, level=2, seconds=0.5, stage="train",
        criteria={f"criteria/{name}": value for name, value in CRITERIA.items()},
    )  # fmt: skip


def shown(panel, width):
    out = io.StringIO()
    Console(file=out, width=width).print(panel)
    return out.getvalue()


def test_a_line_tells_rate_eta_and_all_criteria(run, state):
    assert Board().line(run, state) == (
        "pfds-s40-12345678: level 2, iteration 20/120, 2,000 samples/s, ETA 50 s; "
        "met: length_ratio 0.950, margin 0.400; missed: dangerous 0.900 (needs <= 0.25); "
        "not yet: edge, linear_error, yaw_error"
    )


def test_a_wide_panel_has_a_column_for_each_criterion(run, state):
    panel = Board().panel({run.path.name: (run, state)}, {"a": "finished"}, 3, 160)
    text = shown(panel, 160)
    assert text.startswith("5 runs: 1 running, 1 finished, 3 pending")
    for expected in ("yaw_error", "0.950 met", "0.900 missed", "not yet", "2,000", "50 s"):
        assert expected in text, expected


def test_a_narrow_panel_counts_what_is_met(run, state):
    text = shown(Board().panel({run.path.name: (run, state)}, {}, 0, 100), 100)
    assert "2 of 6 met; missed: dangerous 0.900" in text


def test_a_failed_run_is_named_and_a_damaged_one_says_so(run, state):
    panel = Board().panel({}, {"one": "finished", "two": "failed"}, 0, 100)
    assert "two: failed" in shown(panel, 100) and "one" not in shown(panel, 100)
    run.run_file.write_text("rubbish")
    assert "is damaged" in Board().line(run, glance(run, 12, None))
