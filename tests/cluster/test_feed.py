"""What one pass of a launch submits again, and what it says once only."""

from types import SimpleNamespace
from typing import Any

import pytest

from s2m.cluster import feed
from s2m.cluster.commands import SlurmError
from s2m.cluster.feed import SILENT, Feed, read_queue
from s2m.cluster.queue import Inquiry, Queue
from s2m.cluster.script import REQUEUE


def cell(name, due=True) -> Any:
    folder = SimpleNamespace(path=SimpleNamespace(name=name))
    return SimpleNamespace(folder=folder, due=lambda: due)


@pytest.mark.parametrize(
    "exit_code, again", [(REQUEUE, True), (143, True), (0, False), (1, False), (None, False)]
)
def test_a_run_is_submitted_again_only_if_it_left_to_resume(exit_code, again):
    """One whose job died of itself would otherwise be submitted for ever."""
    found = SimpleNamespace(exit_code=lambda index: exit_code)
    queue: Any = SimpleNamespace(of=lambda path: SimpleNamespace(submission=found, index=0))
    launch = Feed([], [], [], print, submitted={"known"})
    assert launch._is_due(cell("known"), queue) is again
    assert launch._is_due(cell("fresh"), queue)
    assert not launch._is_due(cell("known", due=False), queue)
    nowhere: Any = SimpleNamespace(of=lambda path: None)
    assert not launch._is_due(cell("known"), nowhere)


@pytest.fixture
def passes(monkeypatch):
    """Return a function that gives a launch whose passes go as they are told, and what it says."""
    monkeypatch.setattr(feed.time, "sleep", lambda seconds: None)

    def make(*courses):
        said, left = [], iter(courses)
        cfg: Any = SimpleNamespace(root="runs", cluster=SimpleNamespace(poll=1.0))
        launch = Feed([cfg], [], [], said.append)

        def go():
            more, code, text = next(left)
            if text is SILENT:
                raise SlurmError(SILENT)
            launch._tell(text)
            return more, code

        launch._pass = go
        return launch, said

    return make


def test_what_stays_as_it_was_is_said_once_and_again_after_a_change(passes):
    texts = ["2 queued", "2 queued", "1 running", "2 queued"]
    launch, said = passes(*((n < 3, 0, text) for n, text in enumerate(texts)))
    assert launch.run(wait=True) == 0
    assert said == ["2 queued", "1 running", "2 queued"]


def test_a_queue_that_falls_silent_ends_no_launch_that_waits(passes):
    launch, said = passes((True, 0, "queued"), (True, 0, SILENT), (False, 1, "1 failed"))
    assert launch.run(wait=True) == 1
    assert said == ["queued", SILENT, "1 failed"]


@pytest.mark.parametrize("wait", [True, False])
def test_a_queue_that_is_silent_from_the_start_ends_it(passes, wait):
    launch, _ = passes((True, 0, SILENT))
    with pytest.raises(SlurmError, match="nothing was submitted"):
        launch.run(wait)


def test_without_waiting_there_is_one_pass_and_a_hint(passes):
    launch, said = passes((True, 0, "2 queued"))
    assert launch.run(wait=False) == 0
    assert said == ["2 queued", "python -m s2m.status runs shows their progress"]


@pytest.mark.parametrize(
    "answer", [None, Queue([], silent=True), Queue([], asked=Inquiry(absent=True))]
)
def test_nothing_is_submitted_without_an_answer_of_squeue(answer, monkeypatch, tmp_path):
    monkeypatch.setattr(Queue, "read", lambda *_: answer)
    with pytest.raises(SlurmError, match=SILENT):
        read_queue(tmp_path)
