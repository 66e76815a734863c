"""A run is mirrored through kills, stops and resumptions: the server has what its journal has."""

import os
import signal

import pytest

from s2m.run.journal import Journal
from s2m.run.status import STOPPED
from s2m.stages.attempt import Work
from s2m.stages.execute import execute
from s2m.tracking.lock import sender
from tests.faults.kills import ended_by, in_child
from tests.faults.runs import course
from tests.tracking.conftest import (
    assert_made_up_for,
    assert_made_up_for_once,
    assert_mirrored,
    has_rows,
    off_events,
    stored,
    train,
    until,
)
from tests.tracking.standin.server import KEY
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


def test_an_online_run_is_mirrored_as_it_trains(server, make, calm):
    folder = make()
    assert train(folder, {8: until(has_rows(server, folder, 5))}) == []
    assert course(folder) == calm
    run = stored(server, folder)
    assert (run.display, run.group, run.job_type) == ("pfds s40", "pfds", "train")
    assert run.state == "finished"
    assert run.tags == ["demo", "dummy", "exp", "permuted"]
    assert [row["iteration"] for row in run.rows()] == list(range(1, 13))
    assert run.config["encoder"]["value"]["name"] == "pfds"
    assert not off_events(folder)
    assert_made_up_for_once(server, folder)
    for path in folder.path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def is_sent_by_nobody(folder):
    with sender(folder) as mine:
        return mine


def killed_at_nine(server, folder):
    """Mirror a run, kill it before its tenth iteration, and wait until its follower has ended."""
    child = in_child(train, folder, {9: lambda mirror: signal.pause()})
    wait_for(has_rows(server, folder, 9), child=child)
    os.kill(child, signal.SIGKILL)
    ended_by(child)
    # Its follower sends the end of the dead attempt before the next one takes over.
    wait_for(lambda: has_rows(server, folder, 9)() and stored(server, folder).exit_code == 1)
    wait_for(lambda: is_sent_by_nobody(folder))


def test_a_killed_run_goes_on_from_an_older_checkpoint(server, make, calm):
    folder = make()
    killed_at_nine(server, folder)
    train(folder)
    assert course(folder) == calm
    assert stored(server, folder).state == "finished"
    assert_made_up_for(server, folder)


def test_a_mirror_that_is_quicker_than_the_resumption_takes_back_what_it_has(
    server, make, calm, monkeypatch
):
    folder = make()
    killed_at_nine(server, folder)
    resume = Work.resume

    def late(work):
        wait_for(lambda: "mirrored at" in folder.tracking_log.read_text())
        resume(work)

    monkeypatch.setattr(Work, "resume", late)
    train(folder)
    assert course(folder) == calm
    # Without another look: the times of what was done again are not those of the dead attempt.
    assert_mirrored(server, folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_a_stopped_run_is_preempted_and_goes_on(server, make, calm, number):
    folder = make()

    def stop(mirror):
        wait_for(has_rows(server, folder, 1))
        os.kill(mirror.pid, number)  # a scheduler sends it to every process of a job
        os.kill(os.getpid(), number)

    train(folder, {6: stop})
    assert folder.result("train") is None
    run = stored(server, folder)
    assert run.state in ("preempted", "failed") and len(run.history) == 6
    assert_mirrored(server, folder)
    train(folder)
    assert course(folder) == calm
    assert [row["iteration"] for row in run.rows()] == list(range(1, 13))
    assert_made_up_for(server, folder)


def test_offline_is_sent_later(server, make, calm, monkeypatch):
    folder = make("run", "tracking=offline")
    train(folder)
    assert course(folder) == calm
    assert not server.asked and not folder.tracking_log.exists()
    assert_made_up_for_once(server, folder)
    # It was never evaluated. The client may send the warning with the end, and then it is lost.
    assert stored(server, folder).state in ("preempted", "failed")


def test_a_run_that_was_taken_back_is_taken_back_at_wandb(server, make, calm):
    """Stopped behind what W&B has: a reader must not see rows that the journal has no more."""
    folder = make()
    train(folder, {6: lambda mirror: folder.stop.touch()})
    for path in sorted(folder.checkpoints.glob("*.pt"))[1:]:
        path.unlink()
    wait_for(lambda: (run := stored(server, folder)) and run.exit_code is not None)
    assert len(stored(server, folder).history) == 6
    folder.stop.touch()
    assert execute(folder, last="train") == STOPPED  # goes back, and leaves at once
    assert len(Journal(folder).table()) < 6
    assert_made_up_for_once(server, folder)
