"""How long ago a run gave a sign of life, and when that is too long."""

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from s2m.run.folder import RunFolder
from s2m.run.lock import Attempt

PATIENCE = 20
"""Iterations without a row after which a run is silent ..."""
LEAST = 60.0
"""... but no sooner than after these seconds: checkpoints and audits take their time."""
START = 900.0
"""Seconds that a job may take to its run, and an attempt to its first row: simulators load."""
SLACK = 60.0
"""Seconds by which the clocks of two machines may differ."""


def age_of_last_row(folder: RunFolder, now: float | None = None) -> float | None:
    """Return the seconds since the last row of a run was written; None if it has none."""
    return _age([folder.journal], now)


def age_of_last_sign(folder: RunFolder, now: float | None = None) -> float | None:
    """Return the seconds since a run began, wrote a row or printed a line; None if it never did."""
    return _age([folder.journal, folder.attempt, folder.log], now)


def _age(paths: Sequence[Path], now: float | None) -> float | None:
    written = []
    for path in paths:
        with suppress(FileNotFoundError):
            written.append(path.stat().st_mtime)
    return max(0.0, (time.time() if now is None else now) - max(written)) if written else None


def silent_for(attempt: Attempt, age: float | None, seconds: float | None) -> float | None:
    """Return for how many seconds an attempt under way has been silent; None if it is not.

    `age` is that of the run's last row, `seconds` the time of its iterations.
    """
    if (since := _since(attempt)) is None:
        return None
    own = age is not None and age < since
    quiet = age if own else since
    limit = max(LEAST, PATIENCE * seconds) if own and seconds else START
    return quiet if quiet is not None and quiet > limit else None


def age_before_begin(
    folder: RunFolder, attempt: Attempt | None, elapsed: float | None
) -> float | None:
    """Return how long a job has been about to begin a run; None if it has, or nobody can tell.

    `elapsed` are the seconds since the job started, which may not be its first start. Its own logs
    say nothing: while a run hangs, the job goes on to tell of it.
    """
    since = None if attempt is None else _since(attempt)
    if elapsed is None or (since is not None and since <= elapsed + SLACK):
        return None
    age = age_of_last_sign(folder)
    return elapsed if age is None else min(age, elapsed)


def _since(attempt: Attempt) -> float | None:
    """Return the seconds since an attempt began; None for a time that somebody else has written."""
    try:
        return time.time() - datetime.fromisoformat(attempt.started).timestamp()
    except ValueError:
        return None
