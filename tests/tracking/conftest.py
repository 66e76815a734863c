"""A stand-in server, and runs that are mirrored to it."""

import os
import subprocess
import sys

import pytest

from s2m.run.journal import Journal
from s2m.stages import execute
from s2m.tracking.contents import run_id
from s2m.tracking.history import missing, replay
from s2m.tracking.mirror import Mirror
from tests.test_train import create
from tests.tracking.standin import StandIn
from tests.waiting import wait_for

PROJECT = "s2m-trek"
QUICK = ["tracking.init_seconds=20", "tracking.finish_seconds=20", "tracking.stop_seconds=20"]


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server to which this process and its children are led; unknown requests fail the test."""
    found = StandIn().start()
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield found
    found.stop()
    assert not found.unknown, found.unknown


@pytest.fixture
def make(tmp_path):
    """Return a function that creates the folder of a tiny run."""

    def build(name="run", *words):
        (tmp_path / "exp").mkdir(exist_ok=True)
        return create(tmp_path / "exp" / name, *QUICK, *words)

    return build


class Paced(Mirror):
    """A mirror at whose side training waits, before some iterations, for something to happen."""

    def __init__(self, folder, waits):
        self.said = []
        super().__init__(folder, self.said.append)
        self.waits = dict(waits)
        self.calls = 0

    def check(self):
        wait = self.waits.pop(self.calls, None)
        self.calls += 1
        if wait is not None:
            wait(self)
        super().check()

    @property
    def pid(self):
        assert self._process is not None
        return self._process.pid


def train(folder, waits=(), last="train"):
    """Train in this process, mirrored as `s2m.job` does it; return what the mirror said."""
    with Paced(folder, waits) as mirror:
        mirror.outcome = execute(folder, last=last, mirror=mirror)
    return mirror.said


def until(condition):
    """Return a wait of training that ends when a condition holds."""
    return lambda mirror: wait_for(condition, pause=0.05)


def stored(server, folder):
    return server.store.find(PROJECT, run_id(folder))


def assert_mirrored(server, folder):
    """Demand that the server has the very rows of the journal."""
    run = stored(server, folder)
    assert run is not None
    journal = Journal(folder).table()
    assert len(journal) > 0
    assert missing(journal, replay(run.rows())) == (None, [])


def sync(*words):
    """Run the command as people do."""
    command = [sys.executable, "-m", "s2m.sync", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
