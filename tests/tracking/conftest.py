"""A stand-in server, and runs that are mirrored to it."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from s2m.run.events import Events
from s2m.run.journal import Journal
from s2m.run.status import FINISHED
from s2m.stages.execute import execute
from s2m.tracking.contents import run_id
from s2m.tracking.history import missing, replay
from s2m.tracking.mirror import Mirror
from tests.faults.runs import course
from tests.stages.test_train import create
from tests.tracking.standin import StandIn
from tests.waiting import wait_for

PROJECT = "s2m-trek"
PATIENT = [f"tracking.{name}_seconds=120" for name in ("init", "finish", "stop")]
"""The mirror steps back for all else: beside other tests it may get a tenth of a core."""


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
        return create(tmp_path / "exp" / name, *PATIENT, *words)

    return build


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    """The same run without W&B."""
    folder = create(tmp_path_factory.mktemp("calm") / "exp" / "run")
    assert execute(folder, last="train") == FINISHED
    return course(folder)


class Paced(Mirror):
    """A mirror at whose side training waits, before some iterations, for something to happen."""

    def __init__(self, folder, waits, patience):
        self.said = []
        super().__init__(folder, self.said.append)
        self.waits = dict(waits)
        self.patience = patience
        self.calls = 0

    def start(self, attempt):
        super().start(attempt)
        if self.patience is not None:  # of this attempt only: sync reads the folder's own config
            self._cfg = replace(self._cfg, finish_seconds=self.patience)

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


def train(folder, waits=(), last="train", patience=None):
    """Train in this process, mirrored as `s2m.job` does it; return what the mirror said."""
    with Paced(folder, waits, patience) as mirror:
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


def has_rows(server, folder, n):
    return lambda: (run := stored(server, folder)) is not None and len(run.history) >= n


def off_events(folder):
    return [event for event in Events(folder).read() if event["kind"] == "tracking_off"]


def assert_made_up_for(server, folder):
    """Sync makes the server have the very rows of the journal."""
    done = sync(folder.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_mirrored(server, folder)


def assert_made_up_for_once(server, folder):
    """Sync, look at the server, sync again: nothing may be doubled."""
    assert_made_up_for(server, folder)
    lines = list(stored(server, folder).history)
    again = sync(folder.path)
    assert again.returncode == 0 and "up to date" in again.stdout, again.stdout + again.stderr
    assert stored(server, folder).history == lines
