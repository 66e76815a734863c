"""Commands after a sweep: each step has its record, and one that can go on later is requeued."""

import os
import signal
import threading
from dataclasses import replace

import pytest

from s2m.cluster.cells import expand
from s2m.cluster.commands import Job
from s2m.cluster.followup import Step, make_steps
from s2m.cluster.manifest import Ledger, new_submission
from s2m.cluster.pack import REQUEUE, FollowUp
from s2m.cluster.queue import Queue
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


def follow_up(record, *command):
    """Return a command as a job; the folder of its record is the project."""
    return FollowUp(Step([*command], "x", record), [], str(record.parent), max_requeues=1)


def test_the_sweep_of_the_paper_ends_with_tables_students_and_report(tmp_path):
    steps = make_steps(expand(["+sweep=paper"]).then, tmp_path, "encoders")
    first, *students, last = steps
    assert first.command == last.command and first.record != last.record
    tables = tmp_path / "encoders" / "tables"
    assert [step.command for step in students] == [
        ["-m", "s2m.distill", f"teacher={tables}/teacher-pfds.json"],
        ["-m", "s2m.distill", f"teacher={tables}/teacher.json"],
    ]
    assert [step.computes for step in steps] == [False, True, True, False]


def test_commands_get_the_config_dir_of_the_launch(tmp_path):
    lines = ["-m s2m.distill {own} teacher={root}/x"]
    (step,) = make_steps(lines, tmp_path, "x", [tmp_path / "mine", tmp_path / "ours"])
    flags = [f"--config-dir={tmp_path / name}" for name in ("mine", "ours")]
    assert step.command == ["-m", "s2m.distill", *flags, f"teacher={tmp_path}/x"]


def test_a_command_stands_where_a_run_would(tmp_path):
    (step,) = make_steps(["a.py"], tmp_path, "x")
    content = {"command": step.command, "record": step.record.name, "code": "", "cluster": ""}
    entry = new_submission(tmp_path, 1, "x", **content, job="7")
    job = Job("7", "7", entry.manifest.name, "PENDING", "None")

    def state(*jobs, silent=False):
        return step.state(Queue(jobs, silent, ledgers=[Ledger.read(tmp_path)]))

    assert state(job) == status.PENDING
    entry.write()
    assert state(job) == state(silent=True) == status.QUEUED
    assert state(replace(job, state="RUNNING")) == status.RUNNING
    assert state() == status.FAILED
    step.succeeded({})
    assert state() == step.state(None) == status.FINISHED
    assert state(job) == status.QUEUED  # it is to be done again
    step.record.unlink()
    entry.file.write_text("{")
    assert state(job) == status.PENDING


def test_a_command_that_can_go_on_later_is_told_to_leave_and_requeued(tmp_path):
    ready, record = tmp_path / "ready", tmp_path / "record.json"
    job = follow_up(record, "-c", LEAVES, str(ready))

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
    job = follow_up(tmp_path / "record.json", *words)
    with pytest.raises(UserError, match="was requeued 1 time "):
        job()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_a_command_that_a_warning_kills_begins_anew(tmp_path, number):
    words = ["-c", f"import os; os.kill(os.getpid(), {number})"]
    job = follow_up(tmp_path / "record.json", *words)
    with pytest.raises(SystemExit) as left:
        job()
    assert left.value.code == REQUEUE


def test_only_a_stage_is_started_with_the_signals_blocked(tmp_path):
    """A warning kills a stage that still loads; tables must remain interruptible."""
    package, record = tmp_path / "s2m", tmp_path / "record.json"
    package.mkdir()
    look = "import signal\nprint(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())), file="
    found = {}
    for name in ("__init__", "distill", "other"):
        (package / f"{name}.py").write_text(f"{look}open('{name}.txt', 'w'))\n")
    for name in ("distill", "other"):
        assert follow_up(record, "-m", f"s2m.{name}").run()
        found[name] = {int(word) for word in (tmp_path / f"{name}.txt").read_text().split()}
    assert found["distill"] - found["other"] == set(SIGNALS)


def test_ctrl_c_during_a_command_after_a_local_sweep_is_no_failure(tmp_path, monkeypatch, capsys):
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    monkeypatch.setattr("s2m.cluster.local.Pool.run", lambda pool: 0)
    monkeypatch.setattr("s2m.cluster.chain.ENDED", ("pending",))
    assert main(["-m", "+sweep=tested", f"root={tmp_path}/runs"]) == 130
    assert "interrupted: the same command resumes" in capsys.readouterr().out
