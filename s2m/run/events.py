"""The events of a run: level changes, attempts, preemptions, each with its time and attempt."""

import logging
from contextlib import closing
from typing import Any

from s2m.console.errors import UserError
from s2m.run.clock import timestamp
from s2m.run.files import LineFile, is_count, read_lines
from s2m.run.folder import RunFolder
from s2m.run.lines import from_line, to_line

REDONE = ("level", "round", "diverged")
"""Kinds that tell what training did at an iteration; going back before it takes them back."""

log = logging.getLogger(__name__)

Event = dict[str, Any]


class Events:
    """`events.jsonl`, one line per event; only the holder of the run's lock appends."""

    def __init__(self, folder: RunFolder, attempt: int | None = None) -> None:
        """Speak for an attempt; a reader needs none."""
        self._path = folder.events
        self._attempt = attempt
        self.unreadable = 0
        """Damaged lines that the last reading skipped."""

    def append(self, kind: str, *, iteration: int | None = None, **fields: Any) -> None:
        """Record an event durably; the kinds in `REDONE` need their iteration."""
        if kind in REDONE and iteration is None:
            raise ValueError(f"an event of kind '{kind}' needs its iteration")
        event = {"time": timestamp(), "attempt": self._attempt, "kind": kind}
        if iteration is not None:
            event["iteration"] = iteration
        taken = fields.keys() & event.keys()
        if taken:
            raise ValueError(f"an event sets {', '.join(sorted(taken))} by itself")
        with closing(LineFile(self._path)) as file:
            file.append(to_line(event | fields))
            file.sync()

    def rewind(self, iteration: int, **fields: Any) -> None:
        """Go back to the state after an iteration: what training did later will be re-done."""
        self.append("rewind", iteration=iteration, **fields)

    def read(self) -> list[Event]:
        """Return the events that hold, oldest first; of each level only its last change."""
        kept: list[Event] = []
        self.unreadable = 0
        for line in read_lines(self._path):
            try:
                event = from_line(line)
            except ValueError:
                event = {}
            if not isinstance(kind := event.get("kind"), str):
                self.unreadable += 1
                continue
            if not _is_sound(event):  # to leave out a level change would give a wrong number
                raise UserError(f"{self._path} is damaged: {line[:80]!r}")
            if kind == "rewind":
                last = event["iteration"]
                kept = [e for e in kept if e["kind"] not in REDONE or e["iteration"] <= last]
            elif kind == "level":
                kept = [e for e in kept if e["kind"] != kind or e["level"] != event["level"]]
            kept.append(event)
        if self.unreadable:
            log.warning("%s: skipped %d unreadable lines", self._path, self.unreadable)
        return kept


def _is_sound(event: Event) -> bool:
    """Tell whether the fields are such as `append` writes them."""
    kind, counts = event["kind"], [event["iteration"]] if "iteration" in event else []
    if kind in REDONE or kind == "rewind":
        counts = [event.get("iteration")]
    if kind in ("level", "round"):
        counts.append(event.get(kind))
    if event.get("attempt") is not None:
        counts.append(event["attempt"])
    return all(map(is_count, counts)) and isinstance(event.get("time"), str)
