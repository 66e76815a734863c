"""Launches where commands that answer like SLURM's stand in for it: no job ever starts."""

import pytest

from s2m import cancel
from s2m.cluster import pack
from s2m.cluster.followup import find_steps, results_of
from s2m.cluster.manifest import Ledger
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.events import Events
from s2m.run.folder import find_runs
from s2m.run.lock import RunLock
from s2m.stages.execute import execute
from tests.cluster.jobs import TINY, job_of, launch, states

HERE = [word for word in TINY if not word.startswith("cluster")]
"""The same runs, but on this machine."""
SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=1,2
then:
  - -c "pass"
  - -c "1"
"""


def silence(folder):
    (folder / "squeue").write_text("#!/bin/sh\nexit 1\n")


def jobs(folder):
    return [line.split()[0] for line in (folder / "queue").read_text().splitlines()]


def test_nothing_is_submitted_while_squeue_is_silent(pretended, tmp_path):
    root = tmp_path / "runs"
    launch(root, "seed=1,2")
    before = [job_of(run) for run in find_runs(root)]
    silence(pretended)
    with pytest.raises(UserError, match="squeue does not answer: nothing was submitted"):
        launch(root, "seed=1,2")
    assert jobs(pretended) == ["1"]
    assert [job_of(run) for run in find_runs(root)] == before


def test_submitted_runs_count_as_queued_while_squeue_is_silent(pretended, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "seed=1")
    silence(pretended)
    assert set(states(root).values()) == {"queued"}
    capsys.readouterr()
    assert main(["-m", *HERE, f"root={root}", "seed=1"]) == 0
    out = capsys.readouterr().out
    assert "squeue does not answer: runs that were submitted count as queued" in out
    assert "1 of 1 runs queued, skipped" in out
    assert launch(root, "seed=1", "dry=true") == 0
    assert "0 of 1 runs would be executed" in capsys.readouterr().out


def fail(run):
    """Let an attempt at a run have failed."""
    with RunLock.acquire(run) as lock:
        Events(run, lock.attempt.number).append("failed", reason="it diverged")


def end(folder, job):
    """Let a job have ended."""
    lines = (folder / "queue").read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.split()[0] != job]
    (folder / "queue").write_text("".join(kept))


def test_a_chain_that_comes_after_the_wrong_runs_is_withdrawn(pretended, tmp_path, monkeypatch):
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    assert jobs(pretended) == ["1", "2", "3"]
    launch(root, "+sweep=tested")
    assert main(["-m", *HERE, f"root={root}", "+sweep=tested"]) == 0
    assert jobs(pretended) == ["1", "2", "3"]
    end(pretended, "1")
    fail(next(find_runs(root)))
    launch(root, "+sweep=tested", "retry_failed=true")
    first, second, third = jobs(pretended)
    assert not {first, second, third} & {"1", "2", "3"}


def test_commands_are_due_again_when_a_run_has_failed_once_more(pretended, tmp_path, monkeypatch):
    """No result tells the two failures apart, but what the tables say of the run may."""
    (tmp_path / "tested.yaml").write_text(SWEEP.replace("seed=1,2", "seed=1"))
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    (run,) = find_runs(root)
    fail(run)
    for job in jobs(pretended):
        end(pretended, job)
    for step in find_steps(root):
        step.succeeded(results_of([run]))
    launch(root, "+sweep=tested")
    assert jobs(pretended) == []
    fail(run)
    launch(root, "+sweep=tested")
    assert len(jobs(pretended)) == 2


@pytest.mark.parametrize("standing", ["pending", "stopped", "failed"])
def test_a_command_refuses_runs_that_have_not_ended(
    pretended, tmp_path, monkeypatch, capfd, standing
):
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    first, second = find_runs(root)
    fail(first)
    if standing == "stopped":
        RunLock.acquire(second).release()
    if standing == "failed":
        fail(second)
    entry = next(entry for entry in Ledger.read(root).entries if entry.manifest.command)
    monkeypatch.setenv("SLURM_JOB_ID", entry.manifest.job)
    monkeypatch.setattr("s2m.cluster.pack.FollowUp.__call__", lambda _: print("it began"))
    if standing == "failed":
        assert pack.main([str(entry.folder)]) == 0 and "it began" in capfd.readouterr().out
        return
    said = (
        rf"1 of 2 runs have not ended \({second.path.name} is {standing}\): "
        "launch the sweep again, which resumes them and then runs this command"
    )
    with pytest.raises(UserError, match=said):
        pack.main([str(entry.folder)])
    assert "it began" not in capfd.readouterr().out


def test_a_time_limit_within_its_own_warning_is_refused(pretended, tmp_path):
    line = "cluster.minutes = 2: allowed is a time limit longer than its warning, cluster.signal"
    with pytest.raises(UserError, match=line):
        launch(tmp_path / "runs", "cluster.minutes=2")
    assert jobs(pretended) == [] and not (tmp_path / "runs").exists()


def test_a_waiting_pack_is_cancelled_though_one_of_its_runs_has_finished(pretended, tmp_path):
    root = tmp_path / "runs"
    launch(root, "seed=1,2", "cluster.pack=2")
    done, other = find_runs(root)
    execute(done)
    assert cancel.main([str(root), "--yes"]) == 0
    assert jobs(pretended) == [] and not other.stop.exists()


def test_a_run_that_is_submitted_again_is_no_longer_to_stop(pretended, tmp_path):
    root = tmp_path / "runs"
    launch(root, "seed=1,2", "cluster.pack=2")
    run, _ = find_runs(root)
    cancel.main([str(run.path), "--yes"])
    assert run.stop.exists() and jobs(pretended) == ["1"]
    end(pretended, "1")
    launch(root, "seed=1,2", "cluster.pack=2")
    assert not run.stop.exists()
