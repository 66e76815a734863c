"""The process that mirrors one run while it trains: python -m s2m.tracking.follow RUN_FOLDER.

It reads the folder every few seconds and sends what is new. It leaves when its standard input ends,
on which a last word says how the run ended; without a word the run's process was killed.
"""

import os
import select
import signal
import sys

from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.status import status_of
from s2m.tracking.client import Project, scratch_folder
from s2m.tracking.descendants import end_descendants
from s2m.tracking.lock import sender
from s2m.tracking.mode import tracking_of
from s2m.tracking.session import Session

POLL_SECONDS = 2.0
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
"""It ends with the run and not before, whatever a scheduler sends to all processes of a job."""


def main(words: list[str]) -> int:
    """Mirror a run until its process ends; 1 and a last line on stderr if that fails."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.nice(10)  # training comes first
    folder = RunFolder.open(words[0])
    try:
        word = None
        while word is None:
            with sender(folder) as mine:
                if mine:
                    _mirror(folder)
                    return 0
            # The process of an attempt that was killed still sends the end of it.
            word = _listen(POLL_SECONDS)
        raise UserError("another process was sending this run all the time")
    except Exception as error:
        line = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        print(" ".join(line.split()), file=sys.stderr, flush=True)
        return 1


def _mirror(folder: RunFolder) -> None:
    cfg = tracking_of(folder)
    with scratch_folder() as scratch:
        session = Session(folder, cfg, Project(cfg.entity, cfg.project), scratch, live=True)
        print(f"mirrored at {session.run.url}", flush=True)
        word = None
        while word is None:
            session.push()
            word = _listen(POLL_SECONDS)
        session.close(word or status_of(folder))


def _listen(seconds: float) -> str | None:
    """Wait for the end of the input and return its last word; None if it has not ended."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return sys.stdin.readline().strip() if ready else None


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # The client's own clean-up at exit could wait for a server that does not answer, and its
    # service could go on sending beside whoever sends the run next.
    end_descendants()
    os._exit(code)
