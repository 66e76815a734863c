"""Commands after a sweep: each step has its record, and one that can go on later is requeued."""

import os
import signal
import threading
from dataclasses import replace

import pytest

from s2m.cluster.cells import expand
from s2m.cluster.followup import make_steps
from s2m.cluster.pack import REQUEUE, FollowUp
from s2m.cluster.queue import Job, Queue
from s2m.cluster.submission import Submission
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run import status
from s2m.run.stopping import SIGNALS
from tests.waiting import wait_for

LEAVES = """
import pathlib, signal, sys
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(75))
pathlib.Path(sys.argv[1]).touch()
signal.pause()
"""
SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=1
then:
  - -c "import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2)"
"""


def test_the_sweep_of_the_paper_ends_with_tables_student_and_report(tmp_path):
    steps = make_steps(expand(["+sweep=paper"]).then, tmp_path, "encoders")
    first, student, last = steps
    assert first.command == last.command and first.record != last.record
    assert student.command[:2] == ["-m", "s2m.distill"] and "teacher.json" in student.command[2]
    assert [step.computes for step in steps] == [False, True, False]


def test_commands_get_the_config_dir_of_the_launch(tmp_path):
    lines = ["-m s2m.distill {own} teacher={root}/x"]
    (step,) = make_steps(lines, tmp_path, "x", [tmp_path / "mine", tmp_path / "ours"])
    flags = [f"--config-dir={tmp_path / name}" for name in ("mine", "ours")]
    assert step.command == ["-m", "s2m.distill", *flags, f"teacher={tmp_path}/x"]


def test_a_command_stands_where_a_run_would(tmp_path):
    (step,) = make_steps(["a.py"], tmp_path, "x")
    step.forget()
    job = Job("7", "7", "s2m-x", "PENDING", "None")
    assert step.state(Queue([job])) == status.PENDING
    step.submitted(Submission("7", "s2m-x", "", ""))
    assert step.state(Queue([job])) == step.state(Queue([], silent=True)) == status.QUEUED
    assert step.state(Queue([replace(job, state="RUNNING")])) == status.RUNNING
    assert step.state(Queue([])) == status.FAILED
    step._submitted.write_text("{")
    assert step.state(Queue([job])) == status.UNREADABLE
    step.record.touch()
    assert step.state(None) == status.FINISHED


def test_a_command_that_can_go_on_later_is_told_to_leave_and_requeued(tmp_path):
    ready, record = tmp_path / "ready", tmp_path / "record.json"
    job = FollowUp(["-c", LEAVES, str(ready)], str(record), [], str(tmp_path), max_requeues=1)

    def warn():
        # Without the job's handler the warning would end the tests.
        wait_for(lambda: ready.exists() and signal.getsignal(signal.SIGUSR2) != before, pause=0.01)
        os.kill(os.getpid(), signal.SIGUSR2)

    before = signal.getsignal(signal.SIGUSR2)
    threading.Thread(target=warn, daemon=True).start()
    with pytest.raises(SystemExit) as left:
        job()
    assert left.value.code == REQUEUE and not record.exists()
    assert signal.getsignal(signal.SIGUSR2) == before


def test_it_is_not_requeued_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    words = ["-c", "import sys; sys.exit(75)"]
    job = FollowUp(words, str(tmp_path / "record.json"), [], str(tmp_path), max_requeues=1)
    with pytest.raises(UserError, match="was requeued 1 times"):
        job()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_a_command_that_a_warning_kills_begins_anew(tmp_path, number):
    words = ["-c", f"import os; os.kill(os.getpid(), {number})"]
    job = FollowUp(words, str(tmp_path / "record.json"), [], str(tmp_path), max_requeues=1)
    with pytest.raises(SystemExit) as left:
        job()
    assert left.value.code == REQUEUE


def test_only_a_stage_is_started_with_the_signals_blocked(tmp_path):
    """A warning kills a stage that still loads; tables must remain interruptible."""
    package, record = tmp_path / "s2m", str(tmp_path / "record.json")
    package.mkdir()
    look = "import signal\nprint(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())), file="
    found = {}
    for name in ("__init__", "distill", "other"):
        (package / f"{name}.py").write_text(f"{look}open('{name}.txt', 'w'))\n")
    for name in ("distill", "other"):
        assert FollowUp(["-m", f"s2m.{name}"], record, [], str(tmp_path)).run()
        found[name] = {int(word) for word in (tmp_path / f"{name}.txt").read_text().split()}
    assert found["distill"] - found["other"] == set(SIGNALS)


def test_ctrl_c_during_a_command_after_a_local_sweep_is_no_failure(tmp_path, monkeypatch, capsys):
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    monkeypatch.setattr("s2m.cluster.local.Pool.run", lambda pool: 0)
    assert main(["-m", "+sweep=tested", f"root={tmp_path}/runs"]) == 130
    assert "interrupted: the same command goes on" in capsys.readouterr().out
