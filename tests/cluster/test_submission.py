"""What is handed to SLURM, and what is read back from it, without a SLURM."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from s2m.cluster import queue as slurm_queue
from s2m.cluster import submission
from s2m.cluster.cells import expand
from s2m.cluster.estimate import estimate
from s2m.cluster.plan import create_folders, make_plan
from s2m.cluster.preview import _cost
from s2m.cluster.queue import Queue, complaint, final_states
from s2m.cluster.slurm import (
    JobArray,
    _is_permanent,
    _pauses,
    check,
    job_arrays,
    parameters,
    script,
)
from s2m.cluster.snapshot import PARTS, freeze, source_files
from s2m.cluster.submission import launch_lock
from s2m.config.cluster import SlurmCfg
from s2m.config.search import CONF
from s2m.console.errors import UserError

GOLDEN = Path(__file__).parent / "golden.sbatch"


def plan(tmp_path, *words):
    return make_plan(expand([f"root={tmp_path}", "cluster=slurm", *words]).compose(), None)


def test_the_script_is_the_golden_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/shared/it's a venv/bin/python")
    cfg = SlurmCfg(
        partition="gpu", account="lab", qos="long", constraint="a100|h100", gpu_type="a100",
        cpus=8, memory=0.5, minutes=90, max_parallel=2, setup=["module load cuda"],
        sbatch=["--mail-type=FAIL", "--exclusive"], srun=["--cpu-bind=cores"],
    )  # fmt: skip
    cells = plan(tmp_path, "seed=1,2,3")
    text = script(
        cfg, Path("/shared/runs of ü"), JobArray("s2m-paper-0a1b2c", [[c] for c in cells])
    )
    assert text == GOLDEN.read_text()
    assert subprocess.run(["bash", "-n", GOLDEN]).returncode == 0


def test_the_cost_of_the_paper_is_forecast_until_a_run_was_measured(tmp_path):
    cells = plan(tmp_path, "budget=paper", "seed=1,2")
    cost = estimate(cells, tmp_path)
    assert not cost.measured and cost.seconds == pytest.approx(2 * 12 * 3600)
    assert estimate(plan(tmp_path, "budget=paper", "sim=mujoco"), tmp_path) is None


def test_a_run_that_cannot_be_read_is_left_out_of_the_estimate(tmp_path):
    (run,) = cells = plan(tmp_path, "budget=paper", "seed=1")
    create_folders(cells)
    run.folder.journal.mkdir()  # to read it is an OSError, as with a file of somebody else
    assert not estimate(cells, tmp_path).measured


def test_runs_that_share_a_gpu_may_cost_more_than_was_measured(tmp_path):
    alone, packed = (
        _cost(plan(tmp_path, "budget=paper", f"cluster.pack={n}", "seed=1,2")) for n in (1, 2)
    )
    assert alone.startswith("about 24.0 GPU-hours") and "more if" not in alone
    assert packed.startswith("about 12.0 GPU-hours")
    assert packed.endswith("; more if those runs had a GPU to themselves)")


def test_jobs_without_a_gpu_cost_hours_of_their_cores(tmp_path):
    words = ("budget=paper", "cluster.gpus=0", "cluster.cpus=3", "seed=1,2")
    assert _cost(plan(tmp_path, *words)).startswith("about 72.0 core-hours and ")


def test_gpus_are_asked_for_in_one_place(tmp_path):
    """What cluster.gpus says would replace the option without a word."""
    with pytest.raises(UserError, match=r"--gres is set by cluster.gpus = 1 and cluster.gpu_type"):
        check(SlurmCfg(sbatch=["--gres=gpu:a100:2"]), tmp_path)
    cfg = SlurmCfg(gpus=0, sbatch=["--gres=shard:1"])
    assert parameters(cfg, "name", tmp_path)["additional_parameters"]["gres"] == "shard:1"


def test_runs_are_packed_and_arrays_are_no_larger_than_allowed(tmp_path):
    cells = plan(tmp_path, "seed=1,2,3,4,5,6,7")
    found = job_arrays(cells, SlurmCfg(pack=2), limit=3)
    assert [[len(pack) for pack in array.packs] for array in found] == [[2, 2, 2], [1]]
    flat = [cell for array in found for pack in array.packs for cell in pack]
    assert flat == cells and found[0].name != found[1].name


def answer(monkeypatch, text, code=0):
    """Let SLURM's commands answer with a text."""
    monkeypatch.setattr(slurm_queue.shutil, "which", lambda name: f"/bin/{name}")
    done = subprocess.CompletedProcess([], code, text, "sbatch: error: no")
    monkeypatch.setattr(slurm_queue.subprocess, "run", lambda *a, **k: done)


def test_the_queue_knows_jobs_by_id_and_name(monkeypatch):
    answer(monkeypatch, "7_0|8|s2m-a|RUNNING|None\n7_1|9|s2m-a|PENDING|Priority\nrubbish\n")
    queue = Queue.read()
    assert queue.find("7_0", "s2m-a").state == "RUNNING" and not queue.find("7_0", "s2m-a").waits
    assert queue.find("7_1", "s2m-a").waits
    # The id was given out again after the controller had lost its state.
    assert queue.find("7_0", "s2m-b") is None
    assert queue.has("8") and not queue.has("9") and not queue.has("7")


def test_an_unanswered_question_is_not_an_empty_queue(monkeypatch):
    answer(monkeypatch, "", code=1)
    queue = Queue.read()
    assert queue.silent and queue.has("8") is None
    monkeypatch.setattr(slurm_queue.shutil, "which", lambda name: None)
    assert Queue.read() is None


def test_final_states_belong_to_the_job_of_that_name(monkeypatch):
    answer(monkeypatch, "7_0|s2m-a|CANCELLED by 0\n8|other|FAILED\n")
    assert final_states([("7_0", "s2m-a"), ("8", "s2m-a")]) == {"7_0": "CANCELLED"}


@pytest.mark.parametrize(
    ("message", "permanent"),
    [
        ("sbatch: Socket timed out on send/recv operation", False),
        ("sbatch: Slurm temporarily unable to accept job, sleeping and retrying", False),
        ("sbatch: Batch job submission failed: Invalid account or account/partition", True),
        (
            "sbatch: Batch job submission failed: Requested node configuration is not available",
            True,
        ),
        ("sbatch: Job violates accounting/QOS policy (job submit limit, user's size)", False),
        ("sbatch: QOSMaxSubmitJobPerUserLimit violates", False),
        ("sbatch: unrecognized option '--no-such'", True),
    ],
)
def test_only_what_may_pass_is_tried_again(message, permanent):
    assert _is_permanent(message) is permanent


def test_pauses_double_and_end_when_patience_does():
    assert list(_pauses(0)) == [None]
    assert list(_pauses(8)) == [1, 2, 4, None]


def test_complaints_are_one_line():
    text = "sbatch: error: Batch job submission failed: Invalid qos\n\nsomething: else\n"
    assert complaint(text) == "Batch job submission failed: Invalid qos"
    assert complaint("") == "no reason given"


def test_a_snapshot_is_named_by_its_content_and_has_all_that_jobs_need(tmp_path):
    project = tmp_path / "project"
    for name in ("s2m/a.py", "s2m/__pycache__/a.pyc", "conf/c.yaml", "conf/.hidden", "notes.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    assert [str(path) for path in source_files(project)] == ["conf/c.yaml", "s2m/a.py"]
    first = freeze(tmp_path / "code", project)
    assert freeze(tmp_path / "code", project) == first
    (project / "s2m" / "a.py").write_text("other")
    second = freeze(tmp_path / "code", project)
    assert second != first and (first / "s2m" / "a.py").read_text() == "s2m/a.py"
    assert sorted((tmp_path / "code").iterdir()) == sorted([first, second])


def test_a_snapshot_holds_no_secret_and_opens_no_file_to_others(tmp_path):
    project = tmp_path / "project"
    for name in ("conf/wandb_api_key.yaml", "conf/Secrets/a.yaml", "s2m/x.env", "s2m/monkey.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch(0o600)
    (project / "s2m" / "open.py").touch(0o644)
    assert [str(path) for path in source_files(project)] == ["s2m/monkey.py", "s2m/open.py"]
    frozen = freeze(tmp_path / "code", project) / "s2m"
    modes = [(frozen / name).stat().st_mode & 0o777 for name in ("monkey.py", "open.py")]
    assert modes == [0o600, 0o644]


def test_a_snapshot_of_this_project_has_all_its_code():
    project = CONF.parent
    modules = [path for part in PARTS for path in (project / part).rglob("*.py")]
    assert {path.relative_to(project) for path in modules} <= {*source_files(project)}


def test_settings_that_belong_to_a_launch_cannot_be_swept(tmp_path):
    with pytest.raises(UserError, match="root must be the same for all runs of a command"):
        expand([f"root={tmp_path}/a,{tmp_path}/b"]).compose()


def test_a_launch_that_waits_says_once_for_whom(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(submission, "LOCK_SECONDS", 0.3)
    said = []
    with launch_lock(tmp_path):
        pass
    with (
        launch_lock(tmp_path),
        pytest.raises(UserError, match="has held .*/.launch.lock for 5 minutes"),
        launch_lock(tmp_path, said.append),
    ):
        pass
    who = f"host {socket.gethostname()}, pid {os.getpid()}"
    path = tmp_path / ".launch.lock"
    assert said == [f"waiting for another launch ({who}), which holds {path}"]


def test_without_locks_no_launch_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(errno.ENOLCK, "none")))
    said = []
    with launch_lock(tmp_path, said.append), launch_lock(tmp_path, said.append):
        assert said == []
