"""Jobs on real SLURM daemons that are stopped, lost or cancelled: every run ends right, once."""

import sys

import pytest

from s2m import cancel
from s2m.run.events import Events
from s2m.run.folder import find_runs
from s2m.run.journal import Journal
from tests.cluster.jobs import (
    LONG,
    assert_as_undisturbed,
    assert_whole,
    entries,
    job_of,
    launch,
    preempt,
    states,
    stop_reasons,
    trains,
    wait_until_finished,
)
from tests.faults.cluster import failing
from tests.faults.runs import kinds
from tests.waiting import wait_for

pytestmark = pytest.mark.slurm


def test_the_time_limit_requeues_and_nothing_is_lost(slurm, tmp_path):
    # SLURM looks at limits every 30 s, and warns up to 30 s early: here 30 to 60 s after the start,
    # of which a busy machine spends most on loading.
    root = tmp_path / "runs"
    minute = ["budget.iterations=50", "budget.steps=12"]
    launch(root, *LONG, *minute, "cluster.minutes=2", "cluster.signal_seconds=60")
    run = trains(root)
    wait_for(lambda: "stopped" in kinds(run) or run.result("train"))
    wait_until_finished(root)
    assert set(stop_reasons(run)) == {"SIGUSR2"}
    assert entries(root)[run.path.name].state.attempts >= 2
    assert_as_undisturbed(run, tmp_path)


def test_preemption_with_grace_time(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG)
    run = trains(root)
    preempt(slurm)
    wait_for(lambda: "stopped" in kinds(run))
    wait_until_finished(root)
    assert stop_reasons(run) == ["SIGUSR2"]
    assert_as_undisturbed(run, tmp_path)


def test_a_warning_while_python_still_loads(slurm, tmp_path):
    """A job that starts again before the other has its nodes is preempted at once."""
    begun, python = tmp_path / "begun", tmp_path / "python"
    slow = f'[ -e "{begun}" ] || {{ touch "{begun}"; sleep 30; }}'
    python.write_text(f'#!/bin/sh\n{slow}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    root = tmp_path / "runs"
    launch(root, f"cluster.python={python}")
    wait_for(begun.exists)
    preempt(slurm)
    wait_until_finished(root)
    (run,) = find_runs(root)
    assert kinds(run).count("attempt") == 1


def test_a_job_that_is_warned_while_the_controller_is_busy(slurm, tmp_path):
    root, commands = tmp_path / "runs", tmp_path / "commands"
    with failing("squeue", commands, 2, "Unable to contact slurm controller"):
        pass  # only the job is to find them
    launch(root, *LONG, f'cluster.setup=["export PATH={commands}:$PATH"]')
    run = trains(root)
    slurm.run("scancel", "--signal=USR2", job_of(run))
    wait_until_finished(root)
    assert stop_reasons(run) == ["SIGUSR2"] and not list(commands.glob("fault-*"))
    assert_whole(run)


def test_requeue_by_hand(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG)
    run = trains(root)
    slurm.run("scontrol", "requeue", job_of(run))
    wait_for(lambda: "stopped" in kinds(run))
    wait_for(
        lambda: (
            entries(root).popitem()[1].state.status == "queued" or kinds(run).count("attempt") == 2
        )  # it waits for seconds only
    )
    wait_until_finished(root)
    assert stop_reasons(run) == ["SIGTERM"]
    assert_whole(run)


def test_cancelling_checkpoints_and_the_same_command_goes_on(slurm, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, *LONG)
    run = trains(root)
    assert cancel.main([str(root), "--yes"]) == 0
    entry = wait_for(lambda: (e := entries(root).popitem()[1]).state.status == "stopped" and e)
    assert stop_reasons(run) == ["SIGTERM"]
    wait_for(lambda: entries(root).popitem()[1].verdict == "cancelled")
    assert entry.state.iteration >= 3
    assert cancel.main([str(root), "--yes"]) == 0
    assert "no run there is running or queued" in capsys.readouterr().out
    launch(root, *LONG)
    wait_until_finished(root)
    assert_whole(run)


def test_a_waiting_job_is_cancelled(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, 'cluster.sbatch=["--begin=now+1hour"]')
    assert set(states(root).values()) == {"queued"}
    cancel.main([str(root), "--yes"])
    wait_for(lambda: set(states(root).values()) == {"pending"})


@pytest.mark.slow
def test_a_lost_node_gives_its_run_to_another_whatever_its_orphan_does(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG, "budget.iterations=150", "budget.checkpoint_every=10")
    run = trains(root)
    job = job_of(run)
    node = slurm.run("squeue", "-h", "-j", job, "-o", "%N").strip()
    slurm.node_down(node, orphans=True)
    wait_for(lambda: kinds(run).count("attempt") == 2)
    second = [event for event in Events(run).read() if event["kind"] == "attempt"][-1]
    assert second["stolen"] is True
    wait_until_finished(root)
    assert "failed" not in kinds(run)
    assert_whole(run)


def test_a_restart_of_the_controller_disturbs_nothing(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG, "seed=1,2")
    wait_for(lambda: all(Journal(run).last() for run in find_runs(root)))
    slurm.restart_controller()
    wait_until_finished(root)
    for run in find_runs(root):
        assert kinds(run).count("attempt") == 1


def test_cancelling_one_run_of_a_pack_lets_the_other_finish(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG, "seed=1,2", "cluster.pack=2")
    runs = list(find_runs(root))
    wait_for(lambda: Journal(runs[0]).last())
    cancel.main([str(runs[0].path), "--yes"])
    wait_for(lambda: sorted(states(root).values()) == ["finished", "stopped"])
    assert stop_reasons(runs[0]) == ["stop file"]
