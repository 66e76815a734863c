"""What is handed to SLURM, and what is read back from it, without a SLURM."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from s2m.cluster import commands, turn
from s2m.cluster.cells import expand
from s2m.cluster.commands import complaint, final_states
from s2m.cluster.forecast import estimate
from s2m.cluster.manifest import Manifest, Submission, new_submission
from s2m.cluster.plan import create_folders, make_plan
from s2m.cluster.preview import _cost
from s2m.cluster.queue import Queue
from s2m.cluster.script import parameters, script
from s2m.cluster.slurm import FOR_NOW, FOREVER, FULL, _pauses, check, packs_of, refusal
from s2m.cluster.turn import launch_lock
from s2m.config.cluster import SlurmCfg
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.journal import Journal
from tests.examples import write_encoder

VIOLATION = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
MANIFEST = Manifest("s2m-a", 1, "root", "", "", "")
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
    folder = Path("/shared/runs of ü/.slurm/s2m-paper-0a1b2c")
    content = {"code": "/shared/runs of ü/.slurm/code/<hash of the code>", "cluster": "c"}
    packs = [[f"paper/{cell.folder.path.name}"] for cell in cells]
    entry = new_submission(folder.parents[1], 1, "paper", packs=packs, **content)
    manifest = replace(entry.manifest, name=folder.name)
    environment = {"WANDB_MODE": "offline", "WANDB_API_KEY": "harm", "HOME": "/root"}
    text = script(cfg, Submission(folder, manifest), environment=environment)
    assert text == GOLDEN.read_text()
    assert subprocess.run(["bash", "-n", GOLDEN]).returncode == 0


def test_the_cost_of_the_paper_is_forecast_until_a_run_was_measured(tmp_path):
    cells = plan(tmp_path, "budget=paper", "seed=1,2")
    cost = estimate(cells, tmp_path)
    assert not cost.measured and cost.seconds == pytest.approx(2 * 12 * 3600)
    assert estimate(plan(tmp_path, "budget=paper", "sim=mujoco"), tmp_path) is None


def test_the_cost_of_warp_is_forecast_from_published_rates(tmp_path):
    paper, workstation = (
        estimate(plan(tmp_path, f"budget={name}", "sim=warp"), tmp_path)
        for name in ("paper", "workstation")
    )
    hours = (6.8, 13.7)
    assert (paper.seconds / 3600, paper.longest / 3600) == pytest.approx(hours, abs=0.05)
    # Half of the environments: at best the same rate, at worst half of it.
    few = workstation.seconds / paper.seconds, workstation.longest / paper.longest
    assert few == pytest.approx((1 / 20, 1 / 10)) and not workstation.measured


@pytest.mark.parametrize("words", [["sim.device=cpu"], ["budget.num_envs=256"]])
def test_nothing_is_forecast_of_warp_where_nobody_has_measured(tmp_path, words):
    assert estimate(plan(tmp_path, "budget=workstation", *words), tmp_path) is None


def test_a_forecast_names_its_source_and_the_memory(tmp_path):
    words = ["-m", "budget=paper", "sim=warp", "encoder=flat_mlp,pfds", "dry=true"]
    done = subprocess.run(
        [sys.executable, "-m", "s2m.launch", *words, f"root={tmp_path / 'runs'}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *_, cost, memory = done.stdout.splitlines()
    assert cost.startswith("about 13 h 39 min to 27 h 18 min of one GPU and 500 MB of disk")
    assert "published rates of similar tasks, 60,000 to 120,000 steps/s" in cost
    assert memory.startswith("about 4.0 GB of GPU memory for the largest run (physics 0.2, ")


def test_a_forecast_says_what_it_assumes_of_an_encoder_of_ones_own(tmp_path, capsys):
    mine = write_encoder(tmp_path / "mine")
    words = ["--config-dir", str(mine), "budget=paper", "sim=warp", "encoder=gated_sets"]
    assert main([*words, "dry=true", f"root={tmp_path / 'runs'}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "; computed, not measured; assumed of gated_sets: as of pfds)" in said
    file = mine / "encoder" / "gated_sets.py"
    named = '    label = "Gated Sets"\n'
    file.write_text(file.read_text().replace(named, f"{named}    kept = 58_000\n"))
    assert main([*words, "dry=true", f"root={tmp_path / 'runs'}"]) == 0
    assert "assumed" not in capsys.readouterr().out


def test_what_was_measured_counts_where_it_was_measured(tmp_path):
    """A run on the CPU tells nothing of one on a GPU."""
    words = ["budget=workstation", "budget.iterations=10"]
    (cell,) = cells = plan(tmp_path, *words, "sim.device=cpu")
    create_folders(cells)
    cell.folder.write_result("train", {})
    journal = Journal(cell.folder)
    journal.append(10, {"time/iteration": 7.0})
    journal.close()
    on_cpu, on_gpu = (
        estimate(plan(tmp_path, *words, f"sim.device={device}", "seed=41"), tmp_path)
        for device in ("cpu", "cuda:1")
    )
    assert on_cpu.measured and on_cpu.seconds == pytest.approx(70)
    assert not on_gpu.measured and on_gpu.seconds < 10


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
    entry = new_submission(tmp_path, 1, "x", code="", cluster="")
    assert parameters(cfg, entry)["additional_parameters"]["gres"] == "shard:1"


def test_runs_are_packed_in_their_order(tmp_path):
    cells = plan(tmp_path, "seed=1,2,3,4,5,6,7")
    found = packs_of(cells, SlurmCfg(pack=2))
    assert [len(pack) for pack in found] == [2, 2, 2, 1]
    assert [cell for pack in found for cell in pack] == cells


def answer(monkeypatch, text, code=0):
    """Let SLURM's commands answer with a text."""
    monkeypatch.setattr(commands.shutil, "which", lambda name: f"/bin/{name}")
    done = subprocess.CompletedProcess([], code, text, "sbatch: error: no")
    monkeypatch.setattr(commands.subprocess, "run", lambda *a, **k: done)


def test_the_queue_knows_jobs_by_id_and_name(monkeypatch):
    answer(monkeypatch, "7_0|8|s2m-a|RUNNING|None\n7_1|9|s2m-a|PENDING|Priority\nrubbish\n")
    queue = Queue.read()
    jobs = [queue.jobs(Submission(Path(), replace(MANIFEST, name=f"s2m-{x}"))) for x in "ab"]
    assert jobs[0][0].state == "RUNNING" and not jobs[0][0].waits and jobs[0][1].waits
    # An id may be given out again after the controller has lost its state; a name is not.
    assert jobs[1] == {}
    assert queue.has("8") and not queue.has("9") and not queue.has("7")


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("0:07", 7), ("12:34", 754), ("1:00:00", 3600), ("2-03:04:05", 183845), ("INVALID", None)],
)
def test_the_queue_knows_how_long_a_job_has_been_running(monkeypatch, time, seconds):
    answer(monkeypatch, f"7|7|s2m-a|RUNNING|None|{time}\n8|8|s2m-b|PENDING|None|0:00\n")
    assert [job.elapsed for job in commands.listed()] == [seconds, None]


def test_an_unanswered_question_is_not_an_empty_queue(monkeypatch):
    answer(monkeypatch, "", code=1)
    queue = Queue.read()
    assert queue.silent and queue.has("8") is None
    monkeypatch.setattr(commands.shutil, "which", lambda name: None)
    assert Queue.read() is None


def test_final_states_belong_to_the_job_of_that_name(monkeypatch):
    answer(monkeypatch, "7_0|s2m-a|CANCELLED by 0\n8|other|FAILED\n")
    assert final_states([("7_0", "s2m-a"), ("8", "s2m-a")]) == {"7_0": "CANCELLED"}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Socket timed out on send/recv operation", FOR_NOW),
        ("Slurm temporarily unable to accept job, sleeping and retrying", FOR_NOW),
        ("Batch job submission failed: Invalid account or account/partition", FOREVER),
        ("Batch job submission failed: Requested node configuration is not available", FOREVER),
        (f"Batch job submission failed: {VIOLATION}", FULL),
        (f"QOSMaxSubmitJobPerUserLimit: Batch job submission failed: {VIOLATION}", FULL),
        (f"AssocGrpSubmitJobsLimit: Batch job submission failed: {VIOLATION}", FULL),
        (f"QOSMinGRES: Batch job submission failed: {VIOLATION}", FOREVER),
        (f"QOSMaxCpuPerJobLimit: Batch job submission failed: {VIOLATION}", FOREVER),
        ("Batch job submission failed: Invalid qos specification", FOREVER),
        ("unrecognized option '--no-such'", FOREVER),
    ],
)
def test_a_refusal_is_for_now_or_until_there_is_room_or_for_ever(message, kind):
    assert refusal(f"sbatch: {message}") == kind


def test_pauses_double_and_end_when_patience_does():
    assert list(_pauses(0)) == [None]
    assert list(_pauses(8)) == [1, 2, 4, None]


def test_complaints_are_one_line():
    text = "sbatch: error: Batch job submission failed: Invalid qos\n\nsomething: else\n"
    assert complaint(text) == "Batch job submission failed: Invalid qos"
    assert complaint("") == "no reason given"
    text = f"sbatch: error: QOSMinGRES\nsbatch: error: Batch job submission failed: {VIOLATION}\n"
    assert complaint(text) == f"QOSMinGRES: Batch job submission failed: {VIOLATION}"


def test_settings_that_belong_to_a_launch_cannot_be_swept(tmp_path):
    with pytest.raises(UserError, match="root must be the same for all runs of a command"):
        expand([f"root={tmp_path}/a,{tmp_path}/b"]).compose()
    with pytest.raises(
        UserError, match="cluster must be the same .*, unless they are all on SLURM"
    ):
        expand(["cluster=slurm,local", "seed=1"]).compose()


def test_a_launch_that_waits_says_once_for_whom(tmp_path, monkeypatch):
    monkeypatch.setattr(turn, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(turn, "LOCK_SECONDS", 0.3)
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
