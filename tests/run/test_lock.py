import errno
import fcntl
import multiprocessing
import os
import signal
import socket
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

import pytest

from s2m.cluster.state import inspect
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.files import write_sealed
from s2m.run.folder import RunFolder
from s2m.run.lock import RunLock, current_attempt
from s2m.run.status import FAILED, STOPPED, standing

spawn = multiprocessing.get_context("spawn")


def hold(path: str, pipe: Connection) -> None:
    """Hold the lock of a folder and answer `still_mine` to every message."""
    lock = RunLock.acquire(RunFolder(path))
    pipe.send(lock.attempt.number)
    while pipe.recv():
        pipe.send(lock.still_mine())


@pytest.fixture
def holder(folder):
    pipe, other = spawn.Pipe()
    process = spawn.Process(target=hold, args=(str(folder.path), other))
    process.start()
    assert pipe.recv() == 1
    yield process, pipe
    process.kill()
    process.join()


@pytest.fixture
def no_locks(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_an_attempt_says_who_writes(folder, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    with RunLock.acquire(folder) as lock:
        attempt = current_attempt(folder)
        assert attempt is not None and attempt == lock.attempt
        assert (attempt.number, attempt.job) == (1, "123")
        assert (attempt.host, attempt.pid) == (socket.gethostname(), os.getpid())
        assert attempt.is_alive() is True
        assert lock.still_mine()
    ended = current_attempt(folder)
    assert ended is not None and ended.ended is not None and ended.is_alive() is False


def test_every_acquisition_counts(folder):
    for number in [1, 2, 3]:
        with RunLock.acquire(folder) as lock:
            assert lock.attempt.number == number
    assert [(e["kind"], e["attempt"], e["stolen"]) for e in Events(folder).read()] == [
        ("attempt", 1, False),
        ("attempt", 2, False),
        ("attempt", 3, False),
    ]


def test_no_attempt_yet(folder):
    assert current_attempt(folder) is None


def test_a_second_writer_is_told_who_holds_the_folder(folder, holder):
    process, pipe = holder
    with pytest.raises(UserError) as caught:
        RunLock.acquire(folder)
    message = str(caught.value)
    assert f"host {socket.gethostname()}" in message and f"pid {process.pid})" in message
    assert " since 20" in message and "\n" not in message
    pipe.send(True)
    assert pipe.recv() is True
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.number == 1


def test_one_process_cannot_hold_a_folder_twice(folder):
    with RunLock.acquire(folder), pytest.raises(UserError, match=f"pid {os.getpid()}"):
        RunLock.acquire(folder)


def test_a_killed_holder_frees_the_folder(folder, holder):
    process, _ = holder
    process.kill()
    process.join()
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.is_alive() is False
    with RunLock.acquire(folder) as lock:
        assert lock.attempt.number == 2


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the kernel does not say")
def test_a_killed_holder_that_nobody_has_asked_about_is_dead(folder, holder):
    """As in a container whose first process does not care about its orphans."""
    process, _ = holder
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.is_alive() is False
    assert standing(folder, []) == (STOPPED, "")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the kernel does not say")
def test_another_process_with_its_number_is_not_it(folder, holder):
    """As after a power cut: numbers are given out again."""
    process, _ = holder
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.begun and attempt.is_alive() is True
    process.kill()
    process.join()
    reused = replace(attempt, pid=os.getpid())
    write_sealed(folder.attempt, asdict(reused))
    assert reused.is_alive() is False and standing(folder, []) == (STOPPED, "")
    # Records of older versions do not say when the process began.
    assert replace(reused, begun="").is_alive() is True


def test_a_failure_without_words_is_one_for_everybody(folder):
    with RunLock.acquire(folder) as lock:
        Events(folder, lock.attempt.number).append("failed", reason="")
    assert standing(folder, Events(folder).read()) == (FAILED, "no reason given")
    state = inspect(folder, 1)
    assert (state.status, state.failure) == (FAILED, "no reason given")


def test_a_stolen_folder_is_no_longer_the_orphans(folder, holder):
    _, pipe = holder
    with RunLock.acquire(folder, steal=True) as lock:
        pipe.send(True)
        assert pipe.recv() is False
        assert lock.still_mine() and lock.attempt.number == 2
        with pytest.raises(UserError, match="attempt 2"):
            RunLock.acquire(folder)
    assert [event["stolen"] for event in Events(folder).read()] == [False, True]
    with RunLock.acquire(folder) as lock:
        assert lock.attempt.number == 3


def test_an_orphan_does_not_end_its_successor(folder):
    orphan = RunLock.acquire(folder)
    with RunLock.acquire(folder, steal=True) as lock:
        orphan.release()
        assert lock.still_mine()
        attempt = current_attempt(folder)
        assert attempt is not None and attempt.ended is None


def test_a_record_that_vanishes_is_written_again(folder):
    with RunLock.acquire(folder) as lock:
        folder.attempt.unlink()
        assert lock.still_mine() and current_attempt(folder) == lock.attempt
        event = Events(folder).read()[-1]
        assert (event["kind"], event["attempt"]) == ("attempt_restored", 1)
        with pytest.raises(UserError, match="attempt 1"):
            RunLock.acquire(folder)
        folder.attempt.unlink()
    ended = current_attempt(folder)
    assert ended is not None and ended.ended is not None


@pytest.mark.parametrize("replaced", [True, False])
def test_without_its_lock_an_attempt_writes_no_record(folder, replaced):
    """As under a thief that has not yet said who it is, or in a folder that was deleted."""
    lock = RunLock.acquire(folder)
    folder.attempt.unlink()
    folder.lock.unlink()
    if replaced:
        folder.lock.touch()
    assert not lock.still_mine()
    lock.release()
    assert not folder.attempt.exists()


def test_stealing_a_free_folder_is_an_ordinary_attempt(folder):
    RunLock.acquire(folder, steal=True).release()
    assert [event["stolen"] for event in Events(folder).read()] == [False]


def test_a_lock_file_replaced_while_taking_it_is_not_trusted(folder, monkeypatch):
    flock = fcntl.flock
    thieves = []

    def late(descriptor, operation):
        flock(descriptor, operation)
        if not thieves:
            thieves.append(None)
            thieves[0] = RunLock.acquire(folder, steal=True)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(UserError, match="attempt 1"):
        RunLock.acquire(folder)
    thieves[0].release()


def test_without_locks_the_record_decides(folder, no_locks):
    first = RunLock.acquire(folder)
    with pytest.raises(UserError, match="attempt 1"):
        RunLock.acquire(folder)
    second = RunLock.acquire(folder, steal=True)
    assert (first.still_mine(), second.still_mine()) == (False, True)
    second.release()
    RunLock.acquire(folder).release()


def test_without_locks_another_host_may_be_alive(folder, no_locks):
    with mock.patch("socket.gethostname", return_value="node7"):
        RunLock.acquire(folder)
    with pytest.raises(UserError, match="host node7"):
        RunLock.acquire(folder)
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.is_alive() is None
    assert replace(attempt, ended="later").is_alive() is False


def test_a_damaged_record_is_told(folder):
    folder.attempt.write_text("{}")
    with pytest.raises(UserError, match=r"attempt\.json is damaged"):
        RunLock.acquire(folder)
    folder.attempt.unlink()
    RunLock.acquire(folder).release()


def test_rubbish_of_a_killed_writer_is_removed(folder):
    (folder.path / ".metrics.parquet.ab12.tmp").write_bytes(b"half")
    RunLock.acquire(folder).release()
    assert not list(folder.path.glob(".*.tmp"))
