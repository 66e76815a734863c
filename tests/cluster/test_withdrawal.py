"""Which runs can be stopped, and how each of them is told."""

import subprocess
import sys

import pytest

from s2m.cluster import chain
from s2m.cluster.commands import Job
from s2m.cluster.manifest import FOLDER, Ledger
from s2m.cluster.queue import Queue
from s2m.cluster.withdrawal import Withdrawal, stop
from s2m.run.lock import RunLock, current_attempt
from tests.analysis.synthetic import Spec, write_run
from tests.cluster.jobs import submit

HOLDER = """
import sys
from s2m.run.folder import RunFolder
from s2m.run.lock import RunLock
lock = RunLock.acquire(RunFolder(sys.argv[1]))
print("held", flush=True)
input()
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / FOLDER).mkdir()
    return tmp_path


@pytest.fixture
def cancelled(monkeypatch):
    """The jobs that SLURM is asked to cancel."""
    jobs = []
    monkeypatch.setattr(chain, "ask", lambda command, *ids: jobs.extend(ids))
    return jobs


def pending(root, seed):
    return write_run(root, Spec(seed=seed, state="pending"))


def submitted(root, *seeds, ended=()):
    """Submit runs that share job 7."""
    runs = [pending(root, seed) for seed in seeds]
    submit([[*runs, *ended]], job="7")
    return runs


def queue(root, name=""):
    """Return a queue in which job 7 waits."""
    ledger = Ledger.read(root)
    names = [entry.manifest.name for entry in ledger.entries]
    return Queue([Job("7", "7", name or n, "PENDING", "None") for n in names], ledgers=[ledger])


def test_runs_are_sorted_by_what_can_be_done_about_them(root):
    folders = {
        state: write_run(root, Spec(seed=seed, state=state, iteration=3))
        for seed, state in enumerate(("pending", "running", "stopped", "failed"))
    }
    broken = pending(root, 8)
    broken.run_file.write_text("{")
    found = Withdrawal.of([*folders.values(), broken], None)
    assert found.active == [folders["running"]]
    assert found.idle == [folders["pending"], folders["stopped"]]
    assert list(found.unreadable) == [broken.path] and "run.json" in found.unreadable[broken.path]
    assert len(found) == 3


def test_what_waits_for_nobody_needs_no_stop(root):
    asked, (lost,) = pending(root, 1), submitted(root, 2)
    asked.stop.touch()
    assert len(Withdrawal.of([asked, lost], queue(root, "another"))) == 0


def test_a_job_is_cancelled_when_all_of_its_runs_are_to_stop(root, cancelled):
    runs = submitted(root, 1, 2)
    Withdrawal.of(runs, queue(root)).carry_out()
    assert cancelled == ["7"] and not any(run.stop.exists() for run in runs)


def test_a_job_that_others_share_goes_on_without_the_run(root, cancelled):
    run, other = submitted(root, 1, 2)
    Withdrawal.of([run], queue(root)).carry_out()
    assert cancelled == [] and run.stop.exists() and not other.stop.exists()


def test_runs_that_have_ended_keep_no_job_alive(root, cancelled):
    rates = {k: (1, 1) for k in range(1, 6)}
    ended = write_run(root, Spec(seed=2, iterations=9, episodes=1, rates=rates))
    (run,) = submitted(root, 1, ended=[ended])
    Withdrawal.of([run], queue(root)).carry_out()
    assert cancelled == ["7"]


def test_a_job_of_another_name_is_not_ours_to_cancel(root, cancelled):
    (run,) = submitted(root, 1)
    Withdrawal.of([run], queue(root, "somebody-else")).carry_out()
    assert cancelled == []


def test_idle_runs_are_marked(root, cancelled):
    run = pending(root, 1)
    Withdrawal.of([run], None).carry_out()
    assert run.stop.exists() and cancelled == []


def test_a_process_of_this_machine_gets_a_signal(root):
    run = pending(root, 1)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(run.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "held\n"
        stop(run)
        assert process.wait(30) == -15
    assert not run.stop.exists()


def test_a_process_that_does_not_hold_the_lock_gets_none(root):
    """The record may be old, and its number that of somebody else by now."""
    run = pending(root, 1)
    with RunLock.acquire(run):
        pass
    assert current_attempt(run) is not None
    stop(run)
    assert run.stop.exists()
