"""Episodes are counted from step 0 to their end, one row each."""

import csv

import pytest
import torch

from s2m.agents import AGENTS
from s2m.config import EnvCfg, TaskCfg
from s2m.errors import UserError
from s2m.evaluate import main, run_episodes, summary


def test_one_row_per_episode_with_consistent_columns():
    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=60)), AGENTS["zero"], [1, 5], 6)
    assert [row["k"] for row in rows] == [1] * 6 + [5] * 6
    for row in rows:
        assert row["no_drop"] == (row["steps"] == 60 and not (row["dropped"] or row["fell"]))
        assert row["strict"] == (row["no_drop"] and row["near_edge_steps"] == 0)
        assert 0 <= row["outside_steps"] <= row["steps"]


def test_only_the_first_episode_of_an_environment_counts():
    def thrower(env):
        """Throw the ball off at once, then behave: a second episode must not hide the first."""
        env.sim.qpos[0, 23] += 0.5
        return lambda: torch.zeros(env.num_envs, 12)

    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=80)), thrower, [1], 2)
    assert rows[0]["dropped"] and not rows[0]["no_drop"] and rows[0]["steps"] < 40
    assert rows[1]["no_drop"] and rows[1]["steps"] == 80


def test_same_seed_same_rows():
    cfg = EnvCfg(seed=4, task=TaskCfg(episode_steps=30))
    assert run_episodes(cfg, AGENTS["random"], [3], 4) == run_episodes(
        cfg, AGENTS["random"], [3], 4
    )


@pytest.mark.slow
def test_the_task_needs_control_and_can_be_won():
    """The figures of docs/task.md, with room for the noise of 60 episodes."""
    rates = {}
    for name in ("zero", "lqr"):
        rows = run_episodes(EnvCfg(seed=1000), AGENTS[name], [1, 5], 60)
        for k in (1, 5):
            rates[name, k] = sum(row["no_drop"] for row in rows if row["k"] == k) / 60
    assert rates["lqr", 1] >= 0.95 and rates["lqr", 5] >= 0.85
    assert rates["zero", 1] <= 0.70 and rates["zero", 5] <= 0.10


def test_summary_has_wilson_intervals():
    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=5)), AGENTS["zero"], [1], 10)
    table = summary(rows)
    cells = [list(column.cells)[0] for column in table.columns]
    assert cells[2] == "100 [72, 100]"


def test_command_writes_rows(tmp_path):
    out = tmp_path / "rows.csv"
    words = ["agent=lqr", "levels=[2]", "episodes=3", "task.episode_steps=20", f"out={out}"]
    main(words)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 and rows[0]["k"] == "2" and rows[0]["no_drop"] == "True"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["agent=pid"], "unknown agent 'pid'. Allowed: zero, random, lqr"),
        (["levels=[0]"], "levels = [0]: allowed 1 to 5"),
        (["episodes=0"], "episodes = 0: allowed 1 or more"),
        (["out=rows.xlsx"], "out = rows.xlsx: allowed is a .csv file"),
    ],
)
def test_bad_input_is_one_line(words, line):
    with pytest.raises(UserError) as error:
        main(words)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)
