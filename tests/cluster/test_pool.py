"""Pools and packed jobs at awkward moments; the processes of the runs are pretended."""

import io
import os
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from s2m import cancel
from s2m.cluster import local
from s2m.cluster.local import INTERRUPTED_CODE, Pool
from s2m.cluster.pack import REQUEUE, Pack
from s2m.cluster.queue import Queue
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.lock import RunLock
from s2m.run.status import BUSY, CODES, FAILED, FINISHED, STOPPED
from tests.stages.test_train import create

ENDS = {"short": FINISHED, "taken": BUSY}
"""How runs of these names end."""


class Process:
    """The process of a run: stops when told to, or fails at last; some end at once."""

    begun: list["Process"] = []

    def __init__(self, command, **_):
        self.name = Path(command[-1]).name
        self.told = []
        self.looks = 0
        self.pid = 0
        Process.begun.append(self)

    def send_signal(self, number):
        self.told.append(number)

    def poll(self):
        if self.name in ENDS:
            return CODES[ENDS[self.name]]
        self.looks += 1
        if self.looks > 100:
            return CODES[FAILED]
        return CODES[STOPPED] if self.told else None


@pytest.fixture
def begun(monkeypatch):
    """What has been started, in order."""
    monkeypatch.setattr(local.subprocess, "Popen", Process)
    monkeypatch.setattr(Queue, "read", lambda *_: None)
    monkeypatch.setattr(local, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(Process, "begun", [])
    return Process.begun


@pytest.fixture
def runs(tmp_path):
    """Two runs."""
    return [create(tmp_path / name, f"seed={seed}") for seed, name in enumerate(("one", "two"))]


def pack_of(runs):
    return Pack([str(run.path) for run in runs], threads=1, max_requeues=3)


@pytest.mark.parametrize("restarts", ["0", "1"])
@pytest.mark.parametrize("name", ["run.json", "config.yaml", "attempt.json"])
def test_a_damaged_run_does_not_disturb_the_others_of_its_job(
    monkeypatch, begun, runs, name, restarts, capsys
):
    monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
    (runs[0].path / name).write_text("rubbish")
    with pytest.raises(UserError, match="failed: one"):
        pack_of(runs)()
    assert [process.name for process in begun] == ["two"]
    assert f"one: {runs[0].path / name}" in capsys.readouterr().out.replace("\n", "")


def test_a_folder_that_vanishes_while_it_waits_does_not_disturb_the_others(begun, runs, tmp_path):
    runs.append(create(tmp_path / "short", "seed=9"))
    pool = Pool([(run, 12) for run in reversed(runs)], 1, Console(quiet=True))
    shutil.rmtree(runs[1].path)
    assert pool.run() == 1
    assert [process.name for process in begun] == ["short", "one"]
    assert pool.ended == {"short": FINISHED, "two": FAILED, "one": FAILED}


def test_a_run_that_another_process_has_is_left_to_it(begun, tmp_path):
    run = create(tmp_path / "taken")
    pool = Pool([(run, 12)], 1, Console(quiet=True))
    with RunLock.acquire(run):
        assert pool.run() == 0
    assert pool.ended == {"taken": BUSY}


def test_a_run_whose_new_owner_is_slow_to_sign_for_it_is_left_to_it(begun, tmp_path, monkeypatch):
    run = create(tmp_path / "taken")
    naps = iter([None, None, None, lambda: RunLock.acquire(run)])
    locks = []

    def sleep(_):
        if sign := next(naps, None):
            locks.append(sign())

    monkeypatch.setattr(local, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    pool = Pool([(run, 12)], 1, Console(quiet=True))
    assert pool.run() == 0 and locks
    assert pool.ended == {"taken": BUSY}


def test_a_run_that_was_left_to_nobody_has_failed(begun, tmp_path):
    run = create(tmp_path / "taken")
    assert Pool([(run, 12)], 1, Console(quiet=True)).run() == 1
    with pytest.raises(UserError, match="failed: taken"):
        pack_of([run])()


def test_a_folder_that_is_damaged_while_it_runs_does_not_stop_the_others(begun, runs):
    pool = Pool([(run, 12) for run in runs], 2, Console(quiet=True, force_terminal=True))
    runs[0].run_file.write_text("rubbish")
    pool.run()
    assert set(pool.ended) == {run.path.name for run in runs}


def test_a_run_that_has_just_begun_is_starting(begun, runs):
    said = io.StringIO()
    console = Console(file=said, width=100)
    Pool([(runs[0], 12)], 1, console).run()
    assert "one: starting\n" in said.getvalue()


def test_a_terminal_that_cannot_redraw_gets_lines(begun, runs, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    said = io.StringIO()
    console = Console(file=said, width=100, force_terminal=True)
    Pool([(runs[0], 12)], 1, console).run()
    assert "one: failed\n" in said.getvalue()


def fail_in(job, run, monkeypatch):
    """Let an attempt at a run fail in a job of SLURM."""
    monkeypatch.setenv("SLURM_JOB_ID", job)
    with RunLock.acquire(run) as lock:
        Events(run, lock.attempt.number).append("failed", reason="broken")


def test_a_job_that_is_started_again_repeats_no_failure_of_its_own(monkeypatch, begun, runs):
    fail_in("7", runs[0], monkeypatch)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with pytest.raises(UserError, match="failed: one, two"):
        pack_of(runs)()
    assert [process.name for process in begun] == ["two"]


def test_a_retry_that_was_preempted_before_it_began_still_happens(monkeypatch, begun, runs):
    fail_in("7", runs[0], monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "8")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with pytest.raises(UserError, match="failed: "):
        pack_of(runs)()
    assert [process.name for process in begun] == ["one", "two"]


def warned_before(monkeypatch, name, call):
    """Send SLURM's warning when a method of the pool is called for the n-th time."""
    method, calls = getattr(Pool, name), []

    def disturbed(*given):
        calls.append(given)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGUSR2)
        return method(*given)

    monkeypatch.setattr(Pool, name, disturbed)


def test_a_warning_before_the_first_run_begins_asks_for_another_start(monkeypatch, begun, runs):
    warned_before(monkeypatch, "_start", 1)
    with pytest.raises(SystemExit) as left:
        pack_of(runs)()
    assert left.value.code == REQUEUE and begun == []


def test_a_warning_between_two_runs_does_not_lose_the_second(monkeypatch, begun, tmp_path):
    runs = [create(tmp_path / name, f"seed={seed}") for seed, name in enumerate(("short", "two"))]
    pool = Pool([(run, 12) for run in runs], 1, Console(quiet=True))
    warned_before(monkeypatch, "_collect", 1)
    assert pool.run() == INTERRUPTED_CODE
    assert pool.ended == {"short": FINISHED, "two": STOPPED}
    assert [process.name for process in begun] == ["short"]


def test_a_run_that_is_just_being_started_is_warned_too(monkeypatch, begun, runs):
    warned_before(monkeypatch, "_begin", 2)
    with pytest.raises(SystemExit) as left:
        pack_of(runs)()
    assert left.value.code == REQUEUE
    assert [process.told for process in begun] == [[signal.SIGUSR2], [signal.SIGUSR2]]


def test_a_run_that_is_cancelled_while_it_waits_is_passed_over(begun, runs, capsys):
    assert cancel.main([str(runs[0].path), "--yes"]) == 0
    assert "1 idle runs are skipped" in capsys.readouterr().out
    pool = Pool([(run, 4) for run in runs], workers=1, console=Console(file=io.StringIO()))
    assert pool.run() == 1
    assert pool.ended == {"one": STOPPED, "two": FAILED} and [p.name for p in begun] == ["two"]
    assert cancel.main([str(runs[0].path), "--yes"]) == 0
    assert "no run there is running or queued" in capsys.readouterr().out


def test_nobody_to_ask_is_a_no(begun, runs, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert cancel.main([str(runs[0].path)]) == 1
    assert "nothing was stopped" in capsys.readouterr().out and not runs[0].stop.exists()


def test_a_job_that_is_started_again_leaves_alone_what_was_cancelled_in_it(
    monkeypatch, begun, runs
):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with RunLock.acquire(runs[0]) as lock:
        Events(runs[0], lock.attempt.number).append("stopped", iteration=3, reason="stop file")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with pytest.raises(UserError, match="failed: two"):
        pack_of(runs)()
    assert [process.name for process in begun] == ["two"]


def test_there_are_as_many_workers_as_cores_that_may_be_used(monkeypatch, runs):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert Pool([(run, 4) for run in runs], 0, Console()).workers == 1
