"""What an attempt leaves behind when it fails."""

import os
import runpy
import subprocess
import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from s2m import job
from s2m.run.events import Events
from s2m.run.files import LineFile, write_sealed
from s2m.run.lock import RunLock
from s2m.run.status import CODES, FAILED, FINISHED
from tests.stages.test_train import create


def failures(folder):
    return [event for event in Events(folder).read() if event["kind"] == "failed"]


def test_a_failure_is_charged_to_the_attempt(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def fail(*_, **__):
        with RunLock.acquire(folder):
            raise OSError("the disk is gone")

    monkeypatch.setattr("s2m.stages.execute.execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]
    (event,) = failures(folder)
    assert (event["attempt"], event["reason"]) == (1, "OSError: the disk is gone")


def test_an_application_that_was_started_ends_the_process(monkeypatch):
    """Isaac Lab's would hang, or turn the exit code into 0."""
    app = SimpleNamespace(leave=lambda code: sys.exit(f"left with {code}"))
    monkeypatch.setattr(sys, "argv", ["s2m.job", "nowhere"])
    for modules, said in (({"s2m.sim.isaaclab_app": app}, "left with 2"), ({}, "2")):
        monkeypatch.delitem(sys.modules, "s2m.sim.isaaclab_app", raising=False)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        with pytest.raises(SystemExit, match=f"^{said}$"):
            runpy.run_path(job.__file__, run_name="__main__")


def test_a_failure_that_cannot_be_recorded_is_one_nevertheless(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def full(*_, **__):
        raise OSError("the disk is full")

    def fail(*_, **__):
        with RunLock.acquire(folder):
            monkeypatch.setattr(LineFile, "append", full)
            full()

    monkeypatch.setattr("s2m.stages.execute.execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]


def test_a_failing_orphan_charges_nothing_to_the_attempt_that_took_over(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def fail(*_, **__):
        with RunLock.acquire(folder) as lock:
            thief = replace(lock.attempt, number=2, host="elsewhere", token="another")
            write_sealed(folder.attempt, asdict(thief))
            raise OSError("the disk is gone")

    monkeypatch.setattr("s2m.stages.execute.execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]
    assert failures(folder) == []


def test_a_log_of_another_encoding_does_not_end_a_run(tmp_path):
    """The name of the run's folder is in every line."""
    folder = create(tmp_path / "run–1", "budget.iterations=1", "evaluate.episodes=2")
    done = subprocess.run(
        [sys.executable, "-m", "s2m.job", str(folder.path)], capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert done.returncode == CODES[FINISHED], done.stderr
    assert b"\\u2013" in done.stdout and failures(folder) == []
