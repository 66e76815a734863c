"""What a run folder, and SLURM's queue, say about a run; read-only and without torch."""

from dataclasses import dataclass, field
from typing import Any

from s2m.cluster.commands import Job
from s2m.cluster.queue import Place, Queue
from s2m.cluster.verdict import last_words
from s2m.console.errors import UserError, in_words
from s2m.console.text import duration, excerpt
from s2m.run.criteria import PREFIX
from s2m.run.events import Events
from s2m.run.files import is_count
from s2m.run.folder import RunFolder, unfinished
from s2m.run.journal import Journal
from s2m.run.lock import Attempt, current_attempt
from s2m.run.silence import (
    START,
    age_before_begin,
    age_of_last_row,
    age_of_last_sign,
    silent_for,
)
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

ASKED_TO_LEAVE = (75, 130, 140, 143)
"""Exit codes of a job that left in good order, or by the signal that asked it to."""
LONGEST = 1e6
"""Seconds of an iteration that can be believed."""
COLUMNS = ("state", "level", "iteration", "s/iteration", "end", "last sign", "last event")
"""What every table of runs shows."""


@dataclass(frozen=True)
class RunState:
    """The state of a run; its texts are harmless, whoever wrote the folder."""

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
    dead: bool = False
    """Whether its job ended before the run began."""
    doubt: str = ""
    """Who is only thought to run it, as nobody here can tell, and what to do if that is wrong."""
    host: str = ""
    """The machine that is at it, or was last."""
    pid: int = 0
    """Its process on that machine; 0 if none, or if SLURM has begun it."""
    gpu: str = ""
    """That machine's GPU on which it computes, or did; empty if none."""
    criteria: dict[str, float] = field(default_factory=dict)
    """The newest values of the promotion criteria, by their names in the metrics."""
    age: float | None = None
    """Seconds since the last sign of a run that is running: a row while it learns, else a line of
    its log; before it begins, since its job started."""
    silent: float | None = None
    """Seconds for which it has been silent, if that is too long; unknown of an evaluation."""

    def __post_init__(self) -> None:
        """Make what a folder says harmless, once for all who show it."""
        for name in ("last_event", "failure", "doubt", "host", "gpu"):
            object.__setattr__(self, name, excerpt(getattr(self, name)))

    @property
    def left(self) -> float | None:
        """Seconds to the end of training at the present rate."""
        return None if self.seconds is None else (self.total - self.iteration) * self.seconds

    @property
    def place(self) -> str:
        """The host and the GPU, if there is one."""
        return f"{self.host}, GPU {self.gpu}" if self.gpu else ""

    @property
    def where(self) -> str:
        """The place of a run that is running on a GPU."""
        return self.place if self.status == RUNNING else ""

    def columns(self) -> dict[str, str]:
        """Return the texts of `COLUMNS`."""
        failure = self.failure if self.status in (FAILED, UNREADABLE) else ""
        if self.silent is not None:
            failure = f"silent for {duration(self.silent)}"
        texts = (
            f"{self.status} (evaluate)" if self.stage == "evaluate" else self.status,
            str(self.level or ""),
            f"{self.iteration}/{self.total}",
            f"{self.seconds:.2f}" if self.seconds else "",
            duration(self.left) if self.status == RUNNING else "",
            "" if self.age is None else f"{duration(self.age)} ago",
            failure or self.last_event,
        )
        return dict(zip(COLUMNS, texts, strict=True))


def inspect(folder: RunFolder, total: int, queue: Queue | None = None) -> RunState:
    """Read the state of a run of `total` iterations; without a queue only the folder decides."""
    if not folder.run_file.exists() and not folder.attempt.exists():
        return RunState(PENDING, total=total)
    attempt = current_attempt(folder)
    place = queue.of(folder.path) if queue else None
    job = place.job if place else None
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
    status = _status(stages, attempt, failure, job, _alive(attempt, queue, place))
    dead = ""
    # Without an answer nobody knows of a job that was submitted: it may well be waiting.
    if place and place.unknown and status in (PENDING, STOPPED):
        status = QUEUED
    elif place and status in (PENDING, STOPPED, FAILED) and job is None:
        dead = _death(folder, place, attempt, queue)
        status, failure = (FAILED, dead) if dead else (status, failure)
    if status == FINISHED and events and events[-1]["kind"] == "attempt":
        last_event = "evaluated"  # all that this attempt had to do, as that of a control
    if status == QUEUED:
        last_event = f"waits in the queue: {job.reason if job else place and place.unknown}"
    # A job that has just begun may still have the attempt of an earlier one before it.
    begun = attempt if attempt and (attempt.ended is None or status != RUNNING) else None
    seconds = sum(times) / len(times) if times else None
    age = silent = None
    if status == RUNNING:
        age = age_before_begin(folder, attempt, job.elapsed if job else None)
        if age is not None:
            begun, silent = None, age if age > START else None
        elif begun and stages[0] == folder.kind.stage:
            age = age_of_last_row(folder)
            silent = silent_for(begun, age, seconds)
        elif begun:
            age = age_of_last_sign(folder)
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
        seconds=seconds,
        attempts=attempt.number if attempt else 0,
        job=place.id if place else "",
        last_event=last_event,
        failure=failure,
        dead=bool(dead),
        doubt=_doubt(folder, attempt, queue, place) if status in (RUNNING, QUEUED) else "",
        host=begun.host if begun else "",
        pid=begun.pid if begun and not begun.job else 0,
        gpu=begun.gpu if begun else "",
        criteria={name: value for name, value in row.items() if name.startswith(PREFIX)},
        age=age,
        silent=silent,
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
    alive: bool | None,
) -> str:
    if not stages:
        return FINISHED
    if job is not None and job.waits:
        return QUEUED
    if job is not None:
        # In a pack others may continue; an earlier job's failure says nothing about this one.
        over = attempt is not None and attempt.ended is not None and attempt.job == job.number
        return FAILED if failure and over else RUNNING
    if attempt is None:
        return PENDING
    if alive is not False:
        return RUNNING
    return FAILED if failure else STOPPED


def _alive(attempt: Attempt | None, queue: Queue | None, place: Place | None) -> bool | None:
    """Tell whether the process is there; None if neither this machine nor SLURM can tell."""
    if attempt is None:
        return False
    alive = attempt.is_alive()
    if alive is not None or not attempt.job or queue is None:
        return alive
    # The number of a job of another cluster says nothing here.
    return None if place and place.unknown else queue.has(attempt.job)


def _doubt(
    folder: RunFolder, attempt: Attempt | None, queue: Queue | None, place: Place | None
) -> str:
    """Say who is thought to be at a run, or to wait for it, that nobody here can ask."""
    if place and place.job:
        return ""
    # SLURM, if it is there but silent, will tell later.
    silent = queue is not None and queue.silent
    if place and place.unknown and not silent and not (attempt and attempt.is_alive()):
        return place.whose
    if attempt is None or _alive(attempt, queue, place) is not None or (attempt.job and queue):
        return ""
    return f"assumed to be running: {attempt}; if it is not, delete {folder.attempt}"


def _death(folder: RunFolder, place: Place, attempt: Attempt | None, queue: Queue | None) -> str:
    """Say how a job ended that has not touched the run; empty if it has, or was told to stop."""
    manifest = place.submission.manifest
    number = manifest.packs[place.index].index(f"{folder.path.parent.name}/{folder.path.name}")
    if (attempt.number if attempt else 0) > manifest.attempts[place.index][number]:
        return ""
    code = place.submission.exit_code(place.index)
    if code in (0, *ASKED_TO_LEAVE) or folder.stop.exists():
        return ""
    how = f"ended with exit code {code}"
    if code is None:
        # Its script has not come to its end, or never began: a prolog, a folder for its logs.
        if queue is None or not queue.has_failed(place):
            return ""
        how = "is FAILED in SLURM's accounting, without an exit code,"
    log = place.logs()
    words = last_words(log[1]) if log else ""
    return f"job {place.id} {how} before the run began: {words or 'no output'}"


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
