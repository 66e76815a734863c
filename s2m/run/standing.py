"""Where a run stands by its own folder."""

from s2m.outcomes import FAILED, FINISHED, STOPPED
from s2m.run.events import Event, Events
from s2m.run.folder import RunFolder, unfinished
from s2m.run.lock import Attempt, current_attempt

RUNNING, PENDING = "running", "pending"


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


def stage_of(folder: RunFolder) -> str:
    """Tell where the whole run stands: finished, running, stopped, failed or pending."""
    return FINISHED if not unfinished(folder) else standing(folder, Events(folder).read())[0]
