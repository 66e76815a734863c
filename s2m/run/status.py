"""The states of a run and the ends of an attempt: one vocabulary to plan, show and count.

A run is `pending` until somebody begins it, `queued` while SLURM has its job, `running`, `stopped`
when it can be resumed, `failed`, `finished`, or `unreadable` when its folder is damaged. An attempt
ends as finished, stopped or failed, or as `busy`: another process has the run.
"""

from s2m.run.events import Event, Events
from s2m.run.folder import RunFolder, unfinished
from s2m.run.lock import Attempt, current_attempt

PENDING, QUEUED, RUNNING, STOPPED = "pending", "queued", "running", "stopped"
FAILED, FINISHED, UNREADABLE = "failed", "finished", "unreadable"
BUSY = "busy"

CODES = {FINISHED: 0, FAILED: 1, BUSY: 3, STOPPED: 75}
"""How an attempt ends as an exit code; 75 (EX_TEMPFAIL): it was asked to stop and can resume."""


def outcome_of(code: int) -> str:
    """Return the word for an exit code; whatever is unknown has failed."""
    return {number: word for word, number in CODES.items()}.get(code, FAILED)


def standing(folder: RunFolder, events: list[Event]) -> tuple[str, str]:
    """Tell where the stage stands that has no result yet, and why it failed."""
    attempt = current_attempt(folder)
    if attempt is None:
        return PENDING, ""
    # None: on another host, where only its scheduler could know.
    if attempt.is_alive() is not False:
        return RUNNING, ""
    reason = failure_of(attempt, events)
    return (FAILED, reason) if reason else (STOPPED, "")


def failure_of(attempt: Attempt, events: list[Event]) -> str:
    """Return why an attempt failed; empty if it did not."""
    failures = [e for e in events if e["kind"] == "failed" and e.get("attempt") == attempt.number]
    return str(failures[-1].get("reason") or "no reason given") if failures else ""


def status_of(folder: RunFolder) -> str:
    """Tell where the whole run stands by its own folder."""
    return FINISHED if not unfinished(folder) else standing(folder, Events(folder).read())[0]
