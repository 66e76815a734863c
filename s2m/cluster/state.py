"""What a run folder, and SLURM's queue, say about a run; read-only and without torch."""

from dataclasses import dataclass, field
from typing import Any

from s2m.cluster.queue import Job, Queue
from s2m.cluster.submission import submission_of
from s2m.console.errors import UserError, in_words
from s2m.console.text import duration, excerpt
from s2m.run.events import Events
from s2m.run.files import is_count
from s2m.run.folder import RunFolder, unfinished
from s2m.run.journal import Journal
from s2m.run.lock import Attempt, current_attempt
from s2m.run.status import (
    FAILED,
    FINISHED,
    PENDING,
    QUEUED,
    RUNNING,
    STOPPED,
    UNREADABLE,
    failure_of,
)

LONGEST = 1e6
"""Seconds of an iteration that can be believed."""
COLUMNS = ("state", "level", "iteration", "s/iteration", "end", "last event")
"""What every table of runs shows."""


@dataclass(frozen=True)
class RunState:
    """Where a run stands; its texts are harmless, whoever wrote the folder."""

    status: str
    stage: str = ""
    """The stage that comes next or is under way: train, distill or evaluate."""
    iteration: int = 0
    total: int = 0
    level: int | None = None
    levels: dict[int, int] = field(default_factory=dict)
    """At which iteration each level was reached."""
    seconds: float | None = None
    """Seconds per iteration, the mean of the newest ones."""
    attempts: int = 0
    job: str = ""
    """SLURM's id of the job in which it was submitted last."""
    last_event: str = ""
    failure: str = ""
    """Why the last attempt failed, in one line."""
    doubt: str = ""
    """Who is only thought to run it, as nobody here can tell, and what to do if that is wrong."""

    def __post_init__(self) -> None:
        """Make what a folder says harmless, once for all who show it."""
        for name in ("last_event", "failure", "doubt"):
            object.__setattr__(self, name, excerpt(getattr(self, name)))

    @property
    def left(self) -> float | None:
        """Seconds to the end of training at the present rate."""
        return None if self.seconds is None else (self.total - self.iteration) * self.seconds

    def columns(self) -> dict[str, str]:
        """Return the texts of `COLUMNS`."""
        failure = self.failure if self.status in (FAILED, UNREADABLE) else ""
        texts = (
            f"{self.status} (evaluate)" if self.stage == "evaluate" else self.status,
            str(self.level or ""),
            f"{self.iteration}/{self.total}",
            f"{self.seconds:.2f}" if self.seconds else "",
            duration(self.left) if self.status == RUNNING else "",
            failure or self.last_event,
        )
        return dict(zip(COLUMNS, texts, strict=True))


def inspect(folder: RunFolder, total: int, queue: Queue | None = None) -> RunState:
    """Read the state of a run of `total` iterations; without a queue only the folder decides."""
    if not folder.run_file.exists() and not folder.attempt.exists():
        return RunState(PENDING, total=total)
    attempt = current_attempt(folder)
    submission = submission_of(folder.submitted)
    job = queue.find(submission.job, submission.name) if submission and queue else None
    rows = Journal(folder).tail(10)
    events = Events(folder).read()
    failure = failure_of(attempt, events) if attempt else ""
    stages = unfinished(folder)
    # The result is proof; lines of the journal and events may have been lost since.
    learnt = None if folder.kind.stage in stages else folder.result(folder.kind.stage)
    if learnt is not None:
        _check_result(folder, learnt)
    reached = (learnt or {}).get("levels")
    row: dict[str, float] = rows[-1][1] if rows else {}
    times = [t for _, values in rows if 0 <= (t := values.get("time/iteration", -1.0)) < LONGEST]
    last_event = _describe(events[-1]) if events else ""
    status = _status(stages, attempt, failure, job, queue)
    # Without an answer nobody knows of a job that was submitted: it may well be waiting.
    if submission and queue and queue.silent and status in (PENDING, STOPPED):
        status = QUEUED
    if status == QUEUED:
        last_event = f"waits in the queue: {job.reason if job else 'squeue does not answer'}"
    return RunState(
        status=status,
        stage=stages[0] if stages else "",
        iteration=learnt["iterations"] if learnt else rows[-1][0] if rows else 0,
        total=total,
        level=_level(row.get("curriculum/level", 0.0)),
        levels=(
            {event["level"]: event["iteration"] for event in events if event["kind"] == "level"}
            if reached is None
            else {int(level): at for level, at in reached.items()}
        ),
        seconds=sum(times) / len(times) if times else None,
        attempts=attempt.number if attempt else 0,
        job=submission.job if submission else "",
        last_event=last_event,
        failure=failure,
        doubt=_doubt(folder, attempt, queue) if status == RUNNING and job is None else "",
    )


def _check_result(folder: RunFolder, result: dict[str, Any]) -> None:
    """Make sure of the numbers with which those of other runs are compared."""
    for count in (result["iterations"], *(result.get("levels") or {}).values()):
        if not is_count(count):
            path = folder.result_file(folder.kind.stage)
            raise UserError(f"{path} is damaged: {str(count)[:40]!r} is no iteration")


def _level(value: float) -> int | None:
    return int(value) if 1 <= value < 100 else None


def glance(folder: RunFolder, total: int, queue: Queue | None) -> RunState:
    """Inspect a run among others, which a damaged one must not hold up."""
    try:
        return inspect(folder, total, queue)
    except Exception as error:  # whatever is wrong with it
        return RunState(UNREADABLE, total=total, failure=in_words(error))


def _status(
    stages: list[str],
    attempt: Attempt | None,
    failure: str,
    job: Job | None,
    queue: Queue | None,
) -> str:
    if not stages:
        return FINISHED
    if job is not None and job.waits:
        return QUEUED
    if job is not None:
        # In a pack others may go on; an earlier job's failure says nothing about this one.
        over = attempt is not None and attempt.ended is not None and attempt.job == job.number
        return FAILED if failure and over else RUNNING
    if attempt is None:
        return PENDING
    if _alive(attempt, queue) is not False:
        return RUNNING
    return FAILED if failure else STOPPED


def _alive(attempt: Attempt, queue: Queue | None) -> bool | None:
    """Tell whether the process is there; None if neither this machine nor SLURM can tell."""
    alive = attempt.is_alive()
    return queue.has(attempt.job) if alive is None and attempt.job and queue else alive


def _doubt(folder: RunFolder, attempt: Attempt | None, queue: Queue | None) -> str:
    # SLURM, if it is there but silent, will tell later.
    if attempt is None or _alive(attempt, queue) is not None or (attempt.job and queue):
        return ""
    return f"thought to be at work: {attempt}; if it is not, delete {folder.attempt}"


def _describe(event: dict[str, Any]) -> str:
    """Write an event in a few words."""
    kind, iteration = event["kind"], event.get("iteration")
    where = f" at iteration {iteration}" if iteration is not None else ""
    if kind in ("level", "round"):
        return f"{kind} {event[kind]}{where}"
    if kind == "attempt":
        return f"attempt {event.get('attempt')} began"
    if kind in ("stopped", "killed"):
        return f"{kind} by {event.get('reason')}{where}"
    if kind == "tracking_off":
        return f"no longer mirrored: {event.get('reason')}"
    return f"{kind}{where}"
