"""Whatever W&B does, a run ends as it would have without it, and sync makes up for the rest."""

import os
import signal

import psutil
import pytest

from tests.faults.runs import course
from tests.tracking.conftest import assert_made_up_for, has_rows, off_events, train
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


FAULTS = {
    "500": lambda path, operation: 500,
    "rows-500": lambda path, operation: 500 if "file_stream" in path else None,
    "drop": lambda path, operation: "drop",
    "hang": lambda path, operation: "hang",
    "401": lambda path, operation: 401,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_from_the_start(server, make, calm, fault):
    folder = make()
    server.fault = FAULTS[fault]
    (said,) = train(folder, patience=3)
    assert course(folder) == calm
    (event,) = off_events(folder)
    assert event["reason"] in said and "\n" not in event["reason"]
    server.fault = lambda path, operation: None
    server.released.set()
    assert_made_up_for(server, folder)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_in_the_middle(server, make, calm, fault):
    folder = make()

    def spoil(mirror):
        wait_for(has_rows(server, folder, 2))
        server.fault = FAULTS[fault]

    train(folder, {7: spoil}, patience=3)
    assert course(folder) == calm
    server.fault = lambda path, operation: None
    server.released.set()
    assert_made_up_for(server, folder)


def children(pid, name):
    return [child.pid for child in psutil.Process(pid).children() if name in child.name()]


@pytest.mark.parametrize("victim", ["wandb-core", "mirror"])
def test_the_client_is_killed(server, make, calm, victim):
    folder = make()

    def kill(mirror):
        wait_for(has_rows(server, folder, 2))
        for pid in children(mirror.pid, "wandb-core") if victim == "wandb-core" else [mirror.pid]:
            os.kill(pid, signal.SIGKILL)

    (said,) = train(folder, {7: kill}, patience=20)
    assert "training continues" in said
    assert course(folder) == calm
    assert len(off_events(folder)) == 1
    assert_made_up_for(server, folder)
