"""A run that was killed at any moment ends with the same metrics, levels, state and result."""

import multiprocessing
import random
import signal
from unittest import mock

import pandas

from s2m.run.checkpoint import load_latest
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import deterministic

from .trainer import train, train_until

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["torch", "pandas", "pyarrow.parquet", "yaml"])


def train_quickly(path: str, iterations: int, every: int) -> None:
    with mock.patch("os.fsync"):
        train(path, iterations, every)


def outcome(path: str):
    folder = RunFolder.open(path)
    levels = [(e["level"], e["iteration"]) for e in Events(folder).read() if e["kind"] == "level"]
    checkpoint = load_latest(folder)
    assert checkpoint is not None
    state = {name: str(value) for name, value in checkpoint.state.items()}
    frame = deterministic(Journal(folder).read())
    return frame, levels, checkpoint.iteration, state, folder.result("train")


def assert_same(path: str, reference: str) -> None:
    frame, *rest = outcome(path)
    expected, *others = outcome(reference)
    pandas.testing.assert_frame_equal(frame, expected, check_exact=True)
    assert rest == others
    assert rest[-1] is not None


def test_fifteen_kills_at_random_times(root):
    iterations, every = 3000, 25
    train_quickly(str(root / "reference"), iterations, every)
    delays = random.Random(1)
    path = str(root / "killed")
    for _ in range(15):
        process = server.Process(target=train, args=(path, iterations, every))
        process.start()
        process.join(timeout=delays.uniform(0.02, 0.25))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it must not end before all kills were done"
    train_quickly(path, iterations, every)
    assert_same(path, str(root / "reference"))
    attempts = [e["attempt"] for e in Events(RunFolder(path)).read() if e["kind"] == "attempt"]
    assert attempts == sorted(set(attempts)) and len(attempts) > 3


def test_a_kill_at_every_call_that_changes_a_file(root):
    iterations, every = 6, 2
    reference = str(root / "reference")
    train_quickly(reference, iterations, every)
    call = 0
    while True:
        call += 1
        path = str(root / f"call-{call}")
        process = server.Process(target=train_until, args=(call, path, iterations, every))
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        train_quickly(path, iterations, every)
        assert_same(path, reference)
    assert call > 30
