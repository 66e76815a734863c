"""What training and distilling share, on a stage that only counts."""

import math

import pytest

from s2m.console.errors import UserError
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import RunLock, Superseded
from s2m.run.status import FINISHED, STOPPED
from s2m.run.stopping import STOP_FILE, StopRequest
from s2m.stages.attempt import Diverged, Work
from s2m.stages.progress import Progress
from tests.analysis.synthetic import Spec, write_run
from tests.faults.runs import kinds


class Counting(Work):
    """Adds one per iteration up to ten, and saves after every fourth."""

    advice = "count slower"
    value = 0.0

    def run(self):
        self.resume()
        while self.iteration < 10:
            if self.asked_to_stop():
                return self.leave()
            self.iteration += 1
            self.value += 1
            self.check_divergence({"value": self.value})
            self.journal.append(self.iteration, {"value": self.value})
            if self.iteration % 4 == 0:
                self.save()
        return FINISHED

    def state(self):
        return {"value": self.value}

    def load(self, state):
        self.value = state["value"]

    def is_finite(self):
        return math.isfinite(self.value)


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path, Spec(state="pending"))


def count(folder, work=Counting, watch=lambda: None):
    with RunLock.acquire(folder) as lock:
        return work.perform(folder, lock, StopRequest(), Progress.silent(), watch)


def values(folder):
    return Journal(folder).table()["value"].to_pylist()


def stop_after(folder, iterations):
    """Return a watch that asks to stop before the iteration that follows."""
    looks = iter(range(99))
    return lambda: next(looks) == iterations and folder.stop.touch()


class Killed(BaseException):
    """Ends an attempt as a crash does, without a word."""


def killed_after(iterations):
    looks = iter(range(99))

    def watch():
        if next(looks) == iterations:
            raise Killed

    return watch


def test_who_is_asked_to_stop_leaves_with_a_checkpoint_and_goes_on_from_it(folder):
    assert count(folder, watch=stop_after(folder, 6)) == STOPPED
    assert not folder.stop.exists()
    found = checkpoint.load_latest(folder)
    assert (found.iteration, found.state) == (6, {"value": 6.0})
    assert count(folder) == FINISHED
    assert values(folder) == list(range(1, 11))
    assert kinds(folder) == ["attempt", "stopped", "attempt", "rewind"]


def test_the_reason_to_stop_is_kept(folder):
    count(folder, watch=stop_after(folder, 2))
    (stopped,) = [event for event in Events(folder).read() if event["kind"] == "stopped"]
    assert (stopped["iteration"], stopped["reason"]) == (2, STOP_FILE)


def test_what_came_after_the_checkpoint_is_done_again(folder):
    with pytest.raises(Killed):
        count(folder, watch=killed_after(7))
    assert values(folder) == list(range(1, 8))
    with RunLock.acquire(folder) as lock:
        work = Counting(folder, lock, StopRequest(), Progress.silent())
        work.resume()
        assert (work.iteration, work.saved, work.value) == (4, 4, 4.0)
        assert values(folder) == list(range(1, 5))
        work.close()
    assert count(folder) == FINISHED
    assert values(folder) == list(range(1, 11))


class Diverging(Counting):
    def check_divergence(self, row):
        super().check_divergence({"value": math.inf, "fine": 1.0} if self.iteration == 6 else row)


class Weightless(Counting):
    def is_finite(self):
        return self.iteration < 6


@pytest.mark.parametrize(("work", "what"), [(Diverging, "value"), (Weightless, "a network weight")])
def test_what_is_no_number_ends_the_run_with_advice(folder, work, what):
    line = f"diverged at iteration 6: {what} is not finite; count slower"
    with pytest.raises(Diverged, match=line):
        count(folder, work)
    assert "diverged" in kinds(folder)
    assert checkpoint.load_latest(folder).iteration == 4


def test_a_broken_network_is_never_saved_on_leaving(folder):
    class Broken(Counting):
        def is_finite(self):
            return not folder.stop.exists()

    with pytest.raises(Diverged, match="a network weight"):
        count(folder, Broken, watch=stop_after(folder, 5))
    assert checkpoint.load_latest(folder).iteration == 4


def test_who_was_taken_over_writes_no_checkpoint(folder):
    looks = iter(range(99))

    def take_over():
        if next(looks) == 6:
            RunLock.acquire(RunFolder(folder.path), steal=True)

    with pytest.raises(Superseded, match="was taken over by a later attempt or deleted"):
        count(folder, watch=take_over)
    assert checkpoint.load_latest(folder).iteration == 4


def test_a_checkpoint_of_another_network_is_told_in_one_line(folder):
    class Other(Counting):
        def load(self, state):
            raise RuntimeError("size mismatch\nfor layer 1\nfor layer 2")

    count(folder, watch=stop_after(folder, 4))
    with pytest.raises(UserError, match="does not fit this run's config .*: size mismatch$"):
        count(folder, Other)


def test_metrics_that_are_lost_are_not_passed_over(folder):
    count(folder, watch=stop_after(folder, 5))
    folder.metrics.unlink()
    folder.journal.unlink(missing_ok=True)
    with pytest.raises(UserError, match="lost the metrics of 5 iterations from 1 on: put metrics"):
        count(folder)
