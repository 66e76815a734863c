"""The training side of the mirror: a process to start, to look at, and to wait for a little.

Nothing here can stop a run or change what it computes: training talks to the process only by ending
its input, and whatever goes wrong with it becomes an event.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from s2m.config.tracking import TrackingCfg
from s2m.run.events import Events
from s2m.run.files import open_own
from s2m.run.folder import RunFolder
from s2m.run.status import FAILED, STOPPED
from s2m.run.stopping import stop_signals
from s2m.tracking.descendants import end_tree
from s2m.tracking.mode import ONLINE, choose, tracking_of

EVENT = "tracking_off"
"""Kind of the event that says why a run is no longer mirrored."""
GRACE_SECONDS = 2.0
"""What the process may take beyond the client's own time-out."""


class Mirror:
    """Mirrors the run of a folder, if its config says so, for the length of a `with` block."""

    def __init__(self, folder: RunFolder, say: Callable[[str], object]) -> None:
        """Tell notes to `say`; `start` does the rest."""
        self.folder, self._say = folder, say
        self.outcome = FAILED
        """How the attempt ended; to be set inside the block."""
        self._cfg = TrackingCfg()
        self._process: subprocess.Popen[bytes] | None = None
        self._attempt: int | None = None

    def start(self, attempt: int) -> None:
        """Begin to mirror an attempt, once the run folder is its own."""
        if self._process is not None:
            return
        self._attempt = attempt
        self._cfg = tracking_of(self.folder)
        choice = choose(self._cfg)
        if choice.note:
            self._say(choice.note)
        if choice.mode != ONLINE:
            return
        try:
            descriptor = open_own(self.folder.tracking_log, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(descriptor, "wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "s2m.tracking.follow", str(self.folder.path.resolve())],
                    stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._give_up(f"cannot start the mirror: {error.strerror}")

    def check(self) -> None:
        """Note it if the process has ended before the run; costs one system call."""
        if self._process is not None and self._process.poll() is not None:
            self._give_up(self._last_words())

    def _last_words(self) -> str:
        code = self._process.returncode if self._process else None
        lines = []
        with suppress(OSError):  # of a log that somebody has deleted
            lines = self.folder.tracking_log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines and code == 1 else f"the mirror ended with exit code {code}"

    def _give_up(self, reason: str) -> None:
        self._process = None
        self._say(f"W&B: {reason}; training continues, python -m s2m.sync uploads the rest later")
        Events(self.folder, self._attempt).append(EVENT, reason=reason)

    def __enter__(self) -> Self:
        """Mirror for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the process send the rest, within the config's time, then end it."""
        self.check()
        if self._process is None:
            return
        stopped = self.outcome == STOPPED
        seconds = self._cfg.stop_seconds if stopped else self._cfg.finish_seconds
        with stop_signals() as stop:
            self._tell(self.outcome)
            deadline = time.monotonic() + seconds + GRACE_SECONDS
            while self._process.poll() is None and time.monotonic() < deadline and not stop.reason:
                time.sleep(0.05)
        if self._process.poll() is None:
            end_tree(self._process.pid)
            self._process.wait()
            self._give_up(f"not everything was sent within {seconds:g} s")
        elif self._process.returncode != 0:
            self._give_up(self._last_words())

    def _tell(self, word: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(f"{word}\n".encode())
            self._process.stdin.close()
