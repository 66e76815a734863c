"""How a stage of a run is asked to leave early: SIGINT, SIGTERM, SIGUSR2 or the stop file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STOP_FILE = "stop file"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)
"""Ctrl-C, the end of a process or a job, and SLURM's warning before a time-out or preemption."""


class Stopped(Exception):
    """A stage leaves early, because somebody asked for it."""


@dataclass
class StopRequest:
    """Whether somebody wants the run to leave, and how that was said."""

    reason: str | None = None

    def asked(self, file: Path) -> bool:
        """Tell whether to leave; the stop file of a run counts as a signal does."""
        if not self.reason and file.exists():
            self.reason = STOP_FILE
        return bool(self.reason)


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """Turn the signals into a request that the stage looks at when it can leave in good order.

    A launcher starts its processes with these signals blocked, lest one that comes while Python
    still loads, or again after the stage has left, should kill it: those that wait are delivered
    here.
    """
    request = StopRequest()

    def stop(number: int, _: object) -> None:
        request.reason = request.reason or signal.Signals(number).name

    try:
        before = {number: signal.signal(number, stop) for number in SIGNALS}
    except ValueError:  # not the main thread: whoever runs it there uses the stop file
        yield request
        return
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        yield request
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


def block_stop_signals() -> None:
    """Let the signals wait until `stop_signals`; for a process that is about to become a stage."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
