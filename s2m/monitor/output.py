"""What a run has printed, and what SLURM wrote about its job."""

import math
import sys
import time
from pathlib import Path

from s2m.cluster.queue import Place, Queue
from s2m.cluster.verdict import tail
from s2m.console.errors import UserError
from s2m.console.text import harmless
from s2m.run.folder import RunFolder

FOLLOW_SECONDS = 0.5


def print_output(folder: RunFolder, lines: int, follow: bool = False) -> None:
    """Print the end of a run's log and of its job's errors; with `follow` also what is added."""
    queue = Queue.read(folder.path)
    place = queue.of(folder.path) if queue else None
    logs = place.logs() if place else []
    errors = tail(logs[1], lines, math.inf) if logs else ""
    if not folder.log.exists() and not errors:
        raise UserError(f"{folder.path} {_why_silent(folder, place)}")
    print(tail(folder.log, lines, math.inf))
    if place and errors:
        print(f"--- SLURM job {place.id}\n{errors}")
    if follow:
        _follow(folder.log)


def _why_silent(folder: RunFolder, place: Place | None) -> str:
    if place:
        return f"has printed nothing yet; it was submitted as job {place.id}"
    if folder.attempt.exists():
        return "has no run.log: its log was not archived"
    return "has printed nothing yet"


def _follow(path: Path) -> None:
    """Print what is added to a file, for ever."""
    while not path.exists():
        time.sleep(FOLLOW_SECONDS)
    with path.open("rb") as file:
        file.seek(0, 2)
        while True:
            sys.stdout.write(harmless(file.read().decode("utf-8", "replace")))
            sys.stdout.flush()
            time.sleep(FOLLOW_SECONDS)
