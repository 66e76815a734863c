"""Commands on a login node must start fast and without the libraries of the training."""

import subprocess
import sys

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
from s2m import audit, cancel, dashboard, distill, doctor, evaluate, export, job, launch, logs
from s2m import replay, status, sync
for command in (audit, distill, evaluate, export, launch, replay):
    command.main(["--help"])
for main in (evaluate.main, launch.main, replay.main):
    with contextlib.suppress(Exception):
        main(["agnet=lqr"])
heavy = {"torch", "mujoco", "wandb", "isaaclab", "pandas"} & sys.modules.keys()
sys.exit(", ".join(heavy) or 0)
"""


def test_help_and_mistakes_come_at_once():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
