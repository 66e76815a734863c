"""Why a run is not finished, in two or three words, from the traces that its end has left."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from s2m.cluster.queue import final_states
from s2m.cluster.submission import submission_of
from s2m.console.text import harmless
from s2m.run.folder import RunFolder

TAIL = 12
"""Lines of a log that tell about its end."""
BLOCK = 16 * 1024

SIGNS = {
    "out of memory": r"out of memory|OutOfMemoryError|MemoryError|oom.?kill|OUT_OF_ME",
    "not a number": r"diverged at iteration",
    "node lost": r"DUE TO NODE FAIL|NODE_FAIL|BOOT_FAIL",
    "preempted": r"DUE TO PREEMPTION|PREEMPTED",
    "time limit": r"DUE TO TIME LIMIT|TIMEOUT|DEADLINE",
    "cancelled": r"\*\*\* (?:JOB|STEP) .* CANCELLED AT|^CANCELLED",
    "disk full": r"No space left on device|Disk quota exceeded|no room for a whole line",
    "file size limit": r"File too large",
    "killed": r"^killed by",
    "stopped": r"^stopped by",
}
"""What gives each verdict away; the first that is found counts."""


def judge(folder: RunFolder, failure: str, last_event: str, final: str = "") -> str:
    """Judge the end of a run by the reason it gave itself, or else by SLURM's and its log's words.

    `final` is the state in which SLURM's accounting has its job.
    """
    if failure:
        return _sign(failure) or _sign(tail(folder.log)) or "code error"
    submission = submission_of(folder.submitted)
    log = tail(submission.logs()[1]) if submission else ""
    return _sign(final) or _sign(log) or _sign(last_event) or "ended without a word"


def _sign(text: str) -> str:
    return next((name for name, sign in SIGNS.items() if re.search(sign, text, re.M)), "")


def final_states_of(folders: Iterable[RunFolder]) -> dict[str, str]:
    """Ask the accounting once how the last job of each run ended, by the path of the run."""
    submissions = {str(folder.path): submission_of(folder.submitted) for folder in folders}
    known = {path: item for path, item in submissions.items() if item is not None}
    states = final_states((item.job, item.name) for item in known.values())
    return {path: states[item.job] for path, item in known.items() if item.job in states}


def tail(path: Path, lines: int = TAIL, most: float = BLOCK) -> str:
    """Return the last lines of a log, harmless; empty if there is none, or the path can be none.

    Only the last `most` bytes are looked at: somebody else's log may be one endless line.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            block = BLOCK
            while True:
                file.seek(max(0, size - block))
                found = file.read().decode("utf-8", "replace").rstrip().splitlines()
                # One more than asked for, as the first of them may have been cut.
                if len(found) > lines or block >= min(size, most):
                    return harmless("\n".join(found[-lines:]))
                block *= 4
    except (OSError, ValueError):
        return ""
