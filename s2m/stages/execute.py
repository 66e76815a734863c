"""What is left of a run, stage by stage, in one attempt under one lock."""

import os
import socket
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from s2m.console.errors import UserError
from s2m.run.cards import card_of
from s2m.run.events import Events
from s2m.run.folder import RunFolder, unfinished
from s2m.run.lock import Busy, RunLock, current_attempt, slurm_restarts
from s2m.run.status import FINISHED
from s2m.run.stopping import stop_signals
from s2m.stages.progress import Progress


class Mirror(Protocol):
    """What mirrors a run elsewhere, as an attempt sees it."""

    def start(self, attempt: int) -> None:
        """Begin to mirror an attempt."""
        ...

    def check(self) -> None:
        """Look whether the mirror still stands."""
        ...


def _source(config: dict[str, Any]) -> str:
    """Return the checksum of the one file from outside that a run may execute; empty: none."""
    part = config.get("taught_by", config.get("encoder"))
    return str(part.get("source", "")) if isinstance(part, dict) else ""


def execute(
    folder: RunFolder,
    progress: Progress | None = None,
    last: str = "evaluate",
    mirror: Mirror | None = None,
) -> str:
    """Do the stages of a run up to `last` that have no result yet: FINISHED or STOPPED.

    Raises Busy if another process is at it. A mirror is started once the folder is ours.
    """
    from s2m.encoders.registry import load_own
    from s2m.stages.distill import distill
    from s2m.stages.evaluate import evaluate
    from s2m.stages.train import train

    config = folder.executed()
    load_own([folder.own], only=_source(config))
    watch = mirror.check if mirror else lambda: None
    stages = {
        "train": partial(train, watch=watch),
        "distill": partial(distill, watch=watch),
        "evaluate": evaluate,
    }
    if not unfinished(folder, last):
        return FINISHED
    gpu = card_of(config["sim"].get("device"))
    with stop_signals() as stop, RunLock.acquire(folder, _orphaned(folder), gpu) as lock:
        if mirror:
            mirror.start(lock.attempt.number)
        events = Events(folder, lock.attempt.number)
        for name in _due(folder, last, events):
            outcome = stages[name](folder, lock, stop, progress or Progress.silent())
            if outcome != FINISHED:
                return outcome
    return FINISHED


def _due(folder: RunFolder, last: str, events: Events) -> list[str]:
    """Return what is to be done; a policy that was lost before it was judged is learnt again.

    Learning then goes on from the newest sound checkpoint before the last.
    """
    from s2m.run.checkpoint import load_latest

    due = unfinished(folder, last, events)
    result = folder.result(folder.kind.stage)
    if due == ["evaluate"] and result is not None:
        newest = load_latest(folder, events)
        if newest is None or newest.iteration != result["iterations"]:
            events.append("policy_lost", reason="its final checkpoint is gone or damaged")
            return [folder.kind.stage, *due]
    return due


def _orphaned(folder: RunFolder) -> bool:
    """Tell whether the folder is held by an earlier start of this very SLURM job.

    SLURM starts a job again elsewhere when its node is lost, though its processes may live on.
    """
    holder = current_attempt(folder)
    job, restart = os.environ.get("SLURM_JOB_ID"), slurm_restarts()
    return holder is not None and job is not None and holder.job == job and holder.restart < restart


def attempt(folder: RunFolder, progress: Progress, mirror: Mirror) -> str:
    """Execute what is left of a run; a failure is recorded among its events and raised."""
    try:
        return execute(folder, progress, mirror=mirror)
    except Busy:
        raise
    except Exception as error:
        _record_failure(folder, error)
        raise


def _record_failure(folder: RunFolder, error: Exception) -> None:
    """Charge a failure to this attempt; to one that has taken the folder over it means nothing."""
    mine = current_attempt(folder)
    if mine is None or (mine.host, mine.pid) != (socket.gethostname(), os.getpid()):
        return
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else ""
    if not isinstance(error, UserError):
        reason = f"{type(error).__name__}: {reason}"
    with suppress(OSError):  # a full disk, of which the failure itself tells
        Events(folder, mine.number).append("failed", reason=reason)
