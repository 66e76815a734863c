"""One attempt at a run, as a process of its own: python -m s2m.job RUN_FOLDER.

What it prints goes into the run's log. Success is what the folder's result files say; the exit code
only helps whoever waits for the process.
"""

import os
import socket
import sys
import traceback
from contextlib import suppress

from s2m.errors import UserError, print_anything
from s2m.outcomes import BUSY, CODES, FAILED
from s2m.progress import Progress
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.lock import Busy, current_attempt
from s2m.stages import execute
from s2m.tracking.mirror import Mirror


def main(words: list[str]) -> int:
    """Do what is left of the run of a folder and leave a verdict in its events if that fails."""
    if len(words) != 1:
        print("usage: python -m s2m.job RUN_FOLDER", file=sys.stderr)
        return 2
    folder = RunFolder.open(words[0])
    progress = Progress.automatic()
    with Mirror(folder, progress.say) as mirror:
        mirror.outcome = _attempt(folder, progress, mirror)
    print(mirror.outcome)
    return CODES[mirror.outcome]


def _attempt(folder: RunFolder, progress: Progress, mirror: Mirror) -> str:
    try:
        return execute(folder, progress, mirror=mirror)
    except Busy as error:
        print(error, file=sys.stderr)
        return BUSY
    except Exception as error:
        traceback.print_exc()
        record_failure(folder, error)
        return FAILED


def record_failure(folder: RunFolder, error: Exception) -> None:
    """Charge a failure to this attempt; to one that has taken the folder over it means nothing."""
    attempt = current_attempt(folder)
    if attempt is None or (attempt.host, attempt.pid) != (socket.gethostname(), os.getpid()):
        return
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else ""
    if not isinstance(error, UserError):
        reason = f"{type(error).__name__}: {reason}"
    with suppress(OSError):  # a full disk, of which the failure itself tells
        Events(folder, attempt.number).append("failed", reason=reason)


if __name__ == "__main__":
    from s2m.sim.isaaclab_app import leave

    print_anything()
    try:
        code = main(sys.argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    leave(code)
