"""The examples of docs/extending.md, executed as they stand there."""

import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.run.folder import find_runs
from s2m.run.identity import folder_name
from s2m.run.journal import Journal
from tests.examples import examples

ROOT = Path(__file__).parents[1]
TINY = [
    "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=2", "encoder.width=8",
    "evaluate.episodes=2", "evaluate.selection_episodes=2", "tracking=disabled",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    """A copy of the code that may be changed."""
    for name in ("s2m", "conf", "sweeps"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(tree, *words):
    done = subprocess.run(
        [sys.executable, *words], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def append(tree, name):
    with (tree / name).open("a") as file:
        file.write(f"\n\n{examples()[f'{name}, at its end']}")


NAME = """
from dataclasses import asdict
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.run.identity import folder_name
print(folder_name(asdict(load(RunCfg, []))))
"""


def test_a_reward_term_is_one_function_and_one_weight(tree):
    append(tree, "s2m/task/rewards.py")
    config = tree / "s2m/config/task.py"
    (above,) = (line for line in config.read_text().splitlines() if "    roll_pitch:" in line)
    weight = examples()["s2m/config/task.py, below roll_pitch"]
    config.write_text(config.read_text().replace(f"{above}\n", f"{above}\n{weight}"))
    run(tree, "-m", "s2m.launch", *TINY, "sim=dummy", "task.reward.centroid=-2")
    (folder,) = find_runs(tree / "runs")
    assert folder.config()["task"]["reward"]["centroid"] == -2
    logged = Journal(folder).table()["reward/centroid"].to_pylist()
    assert max(logged) < 0
    assert run(tree, "-c", NAME).strip() == folder_name(asdict(load(RunCfg, [])))


def test_a_simulator_is_one_class_one_dataclass_and_one_yaml(tree):
    append(tree, "s2m/config/sim.py")
    for name in ("s2m/sim/windy.py", "conf/sim/windy.yaml"):
        (tree / name).write_text(examples()[name])
    run(tree, "-m", "s2m.launch", *TINY, "sim=windy", "sim.wind=0.1")
    (folder,) = find_runs(tree / "runs")
    assert folder.config()["sim"] == {"name": "windy", "dt": 0.02, "pause": 0.0, "wind": 0.1}
    assert folder.result("evaluate") is not None
