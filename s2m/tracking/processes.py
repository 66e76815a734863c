"""Ending a process with all that it has started, wherever those have moved to."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from s2m.run.process import stat


def descendants(pid: int) -> list[int]:
    """Return the children of a process and theirs; none where there is no /proc."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if fields := stat(int(path.name)):
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def end_tree(pid: int) -> None:
    """Kill a process, its process group and its descendants.

    The client's own service leaves the group of whoever started it, and would go on sending.
    """
    rest = descendants(pid)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    end_all(rest)


def end_all(pids: list[int]) -> None:
    """Kill processes, those that have ended already included."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
