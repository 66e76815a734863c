"""What a run folder says about its run, read-only and without torch."""

from dataclasses import dataclass
from typing import Any

from s2m.outcomes import FAILED, FINISHED
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import Attempt, current_attempt

NEW, RESUME, RUNNING = "new", "resume", "running"


@dataclass(frozen=True)
class RunState:
    """Where a run stands."""

    status: str
    iteration: int = 0
    total: int = 0
    level: int | None = None
    seconds: float | None = None
    """Seconds per iteration, the mean of the newest ones."""
    attempts: int = 0
    last_event: str = ""
    failure: str = ""
    """Why the last attempt failed, in one line."""

    @property
    def left(self) -> float | None:
        """Seconds to the end of training at the present rate."""
        return None if self.seconds is None else (self.total - self.iteration) * self.seconds


def inspect(folder: RunFolder, total: int) -> RunState:
    """Read the state of a run of `total` iterations."""
    if not folder.run_file.exists():
        return RunState(NEW, total=total)
    attempt = current_attempt(folder)
    rows = Journal(folder).tail(10)
    events = Events(folder).read()
    failure = _failure(events, attempt)
    row: dict[str, float] = rows[-1][1] if rows else {}
    times = [values["time/iteration"] for _, values in rows if "time/iteration" in values]
    return RunState(
        status=_status(folder, attempt, failure),
        iteration=rows[-1][0] if rows else 0,
        total=total,
        level=int(row["curriculum/level"]) if "curriculum/level" in row else None,
        seconds=sum(times) / len(times) if times else None,
        attempts=attempt.number if attempt else 0,
        last_event=_describe(events[-1]) if events else "",
        failure=failure,
    )


def _status(folder: RunFolder, attempt: Attempt | None, failure: str) -> str:
    if folder.result("train") is not None:
        return FINISHED
    if attempt is None:
        return NEW
    if attempt.is_alive() is not False:
        return RUNNING
    return FAILED if failure else RESUME


def _failure(events: list[dict[str, Any]], attempt: Attempt | None) -> str:
    if attempt is None:
        return ""
    failures = [e for e in events if e["kind"] == "failed" and e["attempt"] == attempt.number]
    return str(failures[-1]["reason"]) if failures else ""


def _describe(event: dict[str, Any]) -> str:
    """Write an event in a few words."""
    kind, iteration = event["kind"], event.get("iteration")
    where = f" at iteration {iteration}" if iteration is not None else ""
    if kind == "level":
        return f"level {event['level']}{where}"
    if kind == "attempt":
        return f"attempt {event['attempt']} began"
    return f"{kind}{where}"
