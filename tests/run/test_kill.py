"""A run that was killed at any moment ends with the same metrics, levels, state and result."""

import multiprocessing
import random
import signal
from multiprocessing.connection import Connection
from typing import Any

import pandas

from s2m.run.checkpoint import load_latest
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from tests.run.conftest import deterministic

from .trainer import die_at, log, train

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["torch", "pandas", "pyarrow.parquet", "yaml"])


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


def announced(pipe: Connection, path: str, iterations: int, every: int) -> None:
    pipe.send("imported")
    train(path, iterations, every)


def test_kills_at_random_times(root):
    iterations, every = 2000, 20
    train(str(root / "reference"), iterations, every)
    delays = random.Random(1)
    path = str(root / "killed")
    kills, done = 0, False
    while kills < 15 and not done:
        pipe, other = server.Pipe()
        process = server.Process(target=announced, args=(other, path, iterations, every))
        process.start()
        pipe.recv()
        process.join(timeout=delays.uniform(0, 0.15))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        done = process.exitcode == 0
        kills += not done
    assert kills >= 3, "a machine this fast needs more iterations"
    train(path, iterations, every)
    assert_same(path, str(root / "reference"))
    attempts = [e["attempt"] for e in Events(RunFolder(path)).read() if e["kind"] == "attempt"]
    assert attempts == sorted(set(attempts))


def killed_at(call: int, *work: Any) -> bool:
    """Let a process do the work up to a call that changes a file; False if it ended before."""
    process = server.Process(target=die_at, args=(call, *work))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def test_a_kill_at_every_call_that_changes_a_file(root):
    iterations, every = 6, 2
    reference = str(root / "reference")
    train(reference, iterations, every)
    call, path = 1, str(root / "call-1")
    while killed_at(call, train, path, iterations, every):
        train(path, iterations, every)
        assert_same(path, reference)
        call, path = call + 1, str(root / f"call-{call + 1}")
    assert call > 30


def test_no_kill_loses_a_row_that_was_logged(root):
    call, logged = 1, 0
    folder = RunFolder(root / "call-1")
    folder.path.mkdir()
    while killed_at(call, log, str(folder.path), 8, 4):
        frame = Journal(folder).read()
        assert frame["iteration"].tolist() == list(range(len(frame)))
        assert len(frame) == 0 or frame["a"].tolist() == [i / 7 for i in range(len(frame))]
        assert len(frame) >= logged, "a later kill cannot leave fewer rows"
        call, logged = call + 1, len(frame)
        folder = RunFolder(root / f"call-{call}")
        folder.path.mkdir()
    assert logged == 8
