"""Ending a process with all that it has started, wherever those have moved to."""

import os
import signal
from contextlib import suppress

import psutil


def end_tree(pid: int) -> None:
    """Kill a process, its process group and its descendants.

    The client's own service leaves the group of whoever started it, and would go on sending.
    """
    rest = _descendants(pid)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    _end(rest)


def end_descendants() -> None:
    """Kill whatever this process has started, and what that has started."""
    _end(_descendants(os.getpid()))


def _descendants(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def _end(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
