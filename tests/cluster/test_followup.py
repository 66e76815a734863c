"""Commands after a sweep: each step has its record, and one that can go on later is requeued."""

import os
import signal
import threading

import pytest

from s2m.cluster.cells import follow_ups
from s2m.cluster.followup import make_steps
from s2m.cluster.pack import REQUEUE, FollowUp
from s2m.errors import UserError

LEAVES = """
import pathlib, signal, sys
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(75))
pathlib.Path(sys.argv[1]).touch()
signal.pause()
"""


def test_the_sweep_of_the_paper_ends_with_tables_student_and_report(tmp_path):
    steps = make_steps(follow_ups(["+sweep=paper"]), tmp_path, "encoders")
    first, student, last = steps
    assert first.command == last.command and first.record != last.record
    assert student.command[:2] == ["-m", "s2m.distill"] and "teacher.json" in student.command[2]
    assert [step.computes for step in steps] == [False, True, False]


def test_a_command_that_can_go_on_later_is_told_to_leave_and_requeued(tmp_path):
    ready, record = tmp_path / "ready", tmp_path / "record.json"
    job = FollowUp(["-c", LEAVES, str(ready)], str(record), [], str(tmp_path), max_requeues=1)

    def warn():
        while not ready.exists():
            pass
        os.kill(os.getpid(), signal.SIGUSR2)

    before = signal.getsignal(signal.SIGUSR2)
    threading.Thread(target=warn).start()
    with pytest.raises(SystemExit) as left:
        job()
    assert left.value.code == REQUEUE and not record.exists()
    assert signal.getsignal(signal.SIGUSR2) == before


def test_it_is_not_requeued_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    words = ["-c", "import sys; sys.exit(75)"]
    job = FollowUp(words, str(tmp_path / "record.json"), [], str(tmp_path), max_requeues=1)
    with pytest.raises(UserError, match="failed with exit code 75"):
        job()
