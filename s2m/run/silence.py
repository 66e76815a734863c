"""How long ago a run wrote its last row, and when that is too long."""

import time
from datetime import datetime

from s2m.run.folder import RunFolder
from s2m.run.lock import Attempt

PATIENCE = 20
"""Iterations without a row after which a run is silent ..."""
LEAST = 60.0
"""... but no sooner than after these seconds: checkpoints and audits take their time."""
START = 900.0
"""Seconds that an attempt may take to its first row: simulators load, kernels compile."""


def age_of_last_row(folder: RunFolder, now: float | None = None) -> float | None:
    """Return the seconds since the last row of a run was written; None if it has none."""
    try:
        written = folder.journal.stat().st_mtime
    except FileNotFoundError:
        return None
    return max(0.0, (time.time() if now is None else now) - written)


def silent_for(attempt: Attempt, age: float | None, seconds: float | None) -> float | None:
    """Return for how many seconds an attempt under way has been silent; None if it is not.

    `age` is that of the run's last row, `seconds` the time of its iterations.
    """
    try:
        since = time.time() - datetime.fromisoformat(attempt.started).timestamp()
    except ValueError:  # a time that somebody else has written
        return None
    own = age is not None and age < since
    quiet = age if own else since
    limit = max(LEAST, PATIENCE * seconds) if own and seconds else START
    return quiet if quiet is not None and quiet > limit else None
