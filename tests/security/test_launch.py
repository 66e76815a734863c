"""No secret reaches a file, nothing from a config reaches a shell: in launches that really run."""

import os
import secrets
import subprocess
import sys

import pytest

from benchmarks.simulated import pretend_slurm
from s2m.cluster.slurm import check
from s2m.config.cluster import SlurmCfg
from s2m.console.errors import UserError
from s2m.run.folder import find_runs

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=2",
    "encoder.width=8", "encoder.embedding=8", "evaluate.episodes=2",
    "evaluate.selection_episodes=2", "task.episode_steps=5",
]  # fmt: skip
CANARY = secrets.token_hex(16)
"""Random, as a run keeps uncommitted code, that of this test included."""
SECRETS = {name: f"{CANARY}local" for name in ("WANDB_API_KEY", "AWS_SECRET_KEY", "GITHUB_TOKEN")}
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do
  case $1 in --output|--error) shift;; esac
  shift
done
exec "$@"
"""
HOSTILE = 'it\'s "x"; touch harm & $(touch harm) `touch harm` | # ü'


def launch(folder, environment, *words):
    command = [sys.executable, "-m", "s2m.launch", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def files_with_canary(folder) -> list[str]:
    word = CANARY.encode()
    return [str(p) for p in folder.rglob("*") if p.is_file() and word in p.read_bytes()]


def test_a_launch_with_tracking_leaves_no_secret_behind(tmp_path):
    """W&B is reached at an address that refuses: what the client says about it is kept, too."""
    environment = os.environ | SECRETS | {"WANDB_BASE_URL": "http://127.0.0.1:9"}
    environment |= {"WANDB_MODE": "online", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    words = ["-m", *TINY, "root=runs", "tracking=online", "tracking.init_seconds=2"]
    done = launch(tmp_path, environment, *words, "tracking.finish_seconds=1", "cluster.workers=1")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = find_runs(tmp_path / "runs")
    assert run.result("evaluate") is not None and run.tracking_log.exists()
    assert "tracking_off" in run.events.read_text()
    assert CANARY not in done.stdout + done.stderr
    assert files_with_canary(tmp_path) == []


@pytest.fixture
def slurm(tmp_path):
    """Commands that answer like SLURM's; srun runs what it is given, in this very shell."""
    environment = pretend_slurm(tmp_path / "bin")
    (tmp_path / "bin" / "srun").write_text(SRUN)
    return environment | SECRETS | {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "1"}


def test_a_job_script_holds_no_secret_and_runs_only_what_it_should(tmp_path, slurm):
    root = tmp_path / HOSTILE
    quoted = str(root).replace("'", "\\'")
    words = ["-m", *TINY, f"root='{quoted}'", "cluster=slurm", "tracking=disabled"]
    account = HOSTILE.replace("'", "\\'")
    done = launch(tmp_path, slurm, *words, f"cluster.account='{account}'", "cluster.gpus=0")
    assert done.returncode == 0, done.stdout + done.stderr
    (script,) = root.rglob("job.sh")
    assert files_with_canary(tmp_path) == []
    job = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
           "SLURM_NNODES": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_NUM_NODES": "1"}  # fmt: skip
    ran = subprocess.run(
        ["bash", script], cwd=tmp_path, env=slurm | job, capture_output=True, text=True
    )
    (run,) = find_runs(root)
    assert run.result("evaluate") is not None, ran.stdout + ran.stderr
    assert not list(tmp_path.rglob("harm"))
    assert files_with_canary(tmp_path) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "x\ntouch harm"}, {"partition": "a\tb"}, {"qos": "\x1b"},
        {"sbatch": ["--comment=x\ntouch harm"]}, {"sbatch": ["--x\ntouch harm=1"]},
        {"sbatch": ["--$(touch harm)=1"]}, {"srun": ["-x\ntouch harm"]},
    ],
)  # fmt: skip
def test_a_setting_cannot_become_a_line_of_the_script(tmp_path, changes):
    with pytest.raises(UserError, match="allowed is text without|write each option") as error:
        check(SlurmCfg(**changes), tmp_path)
    assert "\n" not in str(error.value) or "write each option" in str(error.value)


def test_a_root_cannot_become_a_line_of_the_script(tmp_path):
    with pytest.raises(UserError, match="^root = .*: allowed is text without"):
        check(SlurmCfg(), tmp_path / "a\ntouch harm")
