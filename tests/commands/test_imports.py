"""Commands on a login node must start fast and without the libraries of the training."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from s2m.run import code, events, files, folder, identity, journal, lock, metrics
heavy = {"torch", "numpy", "pandas", "pyarrow", "hydra", "mujoco"} & sys.modules.keys()
sys.exit(", ".join(heavy) or 0)
"""


def test_only_checkpoints_need_torch():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


LIGHT = """
import contextlib, sys
from s2m import audit, bench, cancel, dashboard, distill, doctor, evaluate, export, job, launch
from s2m import logs, replay, status, sync
for command in (audit, bench, distill, evaluate, export, launch, replay):
    command.main(["--help"])
for main in (bench.main, evaluate.main, launch.main, replay.main):
    with contextlib.suppress(Exception):
        main(["agnet=lqr"])
heavy = {"torch", "mujoco", "wandb", "isaaclab", "pandas"} & sys.modules.keys()
sys.exit(", ".join(heavy) or 0)
"""


def test_help_and_mistakes_come_at_once():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ROOT = Path(__file__).parents[2]
COMMANDS = [
    *sorted(f"s2m.{path.stem}" for path in (ROOT / "s2m").glob("[a-z]*.py")),
    "analysis.archive", "analysis.compare", "analysis.make_tables", "analysis.publish",
    "analysis.robustness", "analysis.why",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_comes_without_torch(command):
    """Run as a program: what stands below `__main__` is imported, too."""
    python = [sys.executable, "-X", "importtime", "-m", command, "--help"]
    done = subprocess.run(python, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "encodings" in imported and not imported & {"torch", "mujoco", "wandb", "pandas"}


AGAIN = """
import sys
from s2m import launch
code = launch.main(sys.argv[1:])
sys.exit(str({"torch", "mujoco"} & sys.modules.keys()) if "torch" in sys.modules else code)
"""


def test_a_finished_run_is_told_without_torch(tmp_path):
    words = [
        "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=2",
        "evaluate.episodes=2", "evaluate.selection_episodes=2", "tracking=disabled",
        f"root={tmp_path}",
    ]  # fmt: skip
    for command in (["-m", "s2m.launch"], ["-c", AGAIN]):
        done = subprocess.run([sys.executable, *command, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert f"finished: {tmp_path}" in done.stdout


TRAINING = """
import sys
import s2m.job, s2m.stages.execute, s2m.stages.train
# Only the reference agents need the first; W&B is fed from another process.
heavy = {"scipy", "wandb"} & sys.modules.keys()
import wandb
sys.exit(", ".join(heavy) or not hasattr(wandb, "init"))
"""


def test_training_starts_without_what_others_need():
    done = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
