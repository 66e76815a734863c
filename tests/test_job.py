"""What an attempt leaves behind when it fails."""

from dataclasses import asdict, replace

from s2m import job
from s2m.outcomes import CODES, FAILED
from s2m.run.events import Events
from s2m.run.files import LineFile, write_sealed
from s2m.run.lock import RunLock
from tests.test_train import create


def failures(folder):
    return [event for event in Events(folder).read() if event["kind"] == "failed"]


def test_a_failure_is_charged_to_the_attempt(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def fail(*_, **__):
        with RunLock.acquire(folder):
            raise OSError("the disk is gone")

    monkeypatch.setattr(job, "execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]
    (event,) = failures(folder)
    assert (event["attempt"], event["reason"]) == (1, "OSError: the disk is gone")


def test_a_failure_that_cannot_be_recorded_is_one_nevertheless(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def full(*_, **__):
        raise OSError("the disk is full")

    def fail(*_, **__):
        with RunLock.acquire(folder):
            monkeypatch.setattr(LineFile, "append", full)
            full()

    monkeypatch.setattr(job, "execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]


def test_a_failing_orphan_charges_nothing_to_the_attempt_that_took_over(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")

    def fail(*_, **__):
        with RunLock.acquire(folder) as lock:
            thief = replace(lock.attempt, number=2, host="elsewhere", token="another")
            write_sealed(folder.attempt, asdict(thief))
            raise OSError("the disk is gone")

    monkeypatch.setattr(job, "execute", fail)
    assert job.main([str(folder.path)]) == CODES[FAILED]
    assert failures(folder) == []
