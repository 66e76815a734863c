"""The end of a job's script: who is requeued, and how often SLURM is asked."""

import os
import signal
import subprocess

import pytest

from s2m.cluster.manifest import Manifest, Submission
from s2m.cluster.script import TRIES, WARNED, write_script
from s2m.config.cluster import SlurmCfg


@pytest.fixture
def leave(tmp_path):
    """Run a script whose work has an exit code; SLURM's commands fail so many times at first."""

    def run(code, squeue=0, scontrol=0, state="RUNNING", restarts=None, array=False, **rest):
        last = rest.pop("last", True)
        ends = rest.pop("ends", code)
        cfg = SlurmCfg(max_requeues=2, python="true", **rest)
        commands = {
            "srun": (0, f"exit {code}"),
            "squeue": (squeue, f"echo {state}"),
            "scontrol": (scontrol, ""),
            "sleep": (0, ""),
        }
        for name, (failures, answer) in commands.items():
            asked = f"{tmp_path}/{name}.asked"
            path = tmp_path / name
            path.write_text(
                f'#!/bin/sh\necho "$@" >> {asked}\n[ $(wc -l <{asked}) -gt {failures} ] || exit 1\n'
                f"{answer}\n"
            )
            path.chmod(0o755)
        job = {"SLURM_JOB_ID": "7"}
        if array:
            job |= {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}
        if restarts is not None:
            job["SLURM_RESTART_COUNT"] = str(restarts)
        manifest = Manifest("s2m-a", 1, "root", "", str(tmp_path), "")
        path = write_script(cfg, Submission(tmp_path, manifest), last=last, environment={})
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **job}
        done = subprocess.run(["bash", path], env=environment)
        assert done.returncode == (ends if cfg.requeue or last else 0)
        note = tmp_path / "0.exit"
        noted = int(note.read_text()) if note.exists() else None
        asked = {
            name: (tmp_path / f"{name}.asked").read_text().splitlines()
            if (tmp_path / f"{name}.asked").exists()
            else []
            for name in commands
        }
        return asked | {"noted": noted}

    return run


@pytest.mark.parametrize("code", WARNED)
def test_a_job_that_was_asked_to_leave_is_requeued(leave, code):
    asked = leave(code, array=True)
    assert asked["scontrol"] == ["requeue 7_0"] and asked["noted"] is None


@pytest.mark.parametrize("code", [0, 1, 137])
def test_other_ends_are_final(leave, code):
    asked = leave(code)
    assert asked["squeue"] == [] and asked["noted"] == code


@pytest.mark.parametrize("state", ["COMPLETING", ""])
def test_what_slurm_has_decided_stands(leave, state):
    asked = leave(75, state=state)
    assert len(asked["squeue"]) == 1 and asked["scontrol"] == asked["sleep"] == []


def test_a_controller_that_does_not_answer_is_asked_again(leave):
    asked = leave(75, squeue=3)
    assert len(asked["squeue"]) == 4 and asked["scontrol"] == ["requeue 7"]


def test_a_refused_requeue_is_tried_again(leave):
    asked = leave(143, scontrol=2)
    assert len(asked["squeue"]) == len(asked["scontrol"]) == 3


def test_it_does_not_ask_for_ever(leave):
    asked = leave(75, squeue=99)
    assert len(asked["squeue"]) == TRIES and asked["noted"] == 75


@pytest.mark.parametrize("code", WARNED)
def test_no_end_is_requeued_for_ever(leave, code):
    assert leave(code, restarts=2)["scontrol"] == []


def test_below_the_bound_it_is(leave):
    assert leave(140, restarts=1)["scontrol"] == ["requeue 7"]


@pytest.mark.parametrize("last", [True, False])
def test_where_requeueing_is_forbidden_the_job_after_it_goes_on(leave, last):
    asked = leave(75, requeue=False, last=last)
    assert asked["squeue"] == asked["scontrol"] == [] and asked["noted"] == 75


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("set -e; false", 1),
        ("false || exit 7", 7),
        ("set -u; echo $no_such_variable", 1),
        ("if then", 2),
    ],
)
def test_a_setup_that_ends_the_script_leaves_a_note(leave, line, code):
    """Without one the run would be pending, and submitted again, for ever."""
    asked = leave(0, setup=[line], ends=code)
    assert asked["srun"] == [] and asked["noted"] == code


@pytest.mark.parametrize("line", ["set -e", "set -eu", "trap 'echo bye' EXIT"])
@pytest.mark.parametrize(("code", "noted"), [(75, None), (1, 1)])
def test_what_a_setup_does_to_the_shell_changes_no_end(leave, line, code, noted):
    asked = leave(code, setup=[line])
    assert asked["noted"] == noted and len(asked["scontrol"]) == (code == 75)


@pytest.mark.parametrize("name", ["TERM", "USR2"])
def test_a_signal_to_the_script_itself_counts_as_a_warning(leave, name):
    code = 128 + signal.Signals[f"SIG{name}"]
    asked = leave(0, setup=[f"kill -{name} $$"], ends=code)
    assert asked["scontrol"] == ["requeue 7"] and asked["noted"] is None


def test_a_copy_of_the_code_that_is_refused_leaves_a_note(leave, tmp_path):
    (tmp_path / "refuses").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "refuses").chmod(0o755)
    asked = leave(0, setup=[f"true() {{ {tmp_path}/refuses; }}"], ends=1)
    assert asked["srun"] == [] and asked["noted"] == 1
