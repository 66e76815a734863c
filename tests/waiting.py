"""Wait for what happens elsewhere, but neither for ever nor for a process that has ended."""

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any


def wait_for(
    condition: Callable[[], Any],
    seconds: float = 150.0,
    what: str = "something",
    *,
    child: int | subprocess.Popen | None = None,
    pause: float = 0.1,
    tell: Callable[[], str] = str,
) -> Any:
    """Return what a condition gives once it holds; `tell` describes what is there if it never does.

    A child, forked or started, is the process that is to bring it about.
    """
    deadline = time.monotonic() + seconds
    while True:
        # Asked before the condition: what a child did last still counts.
        late, left = time.monotonic() > deadline, child is not None and not is_alive(child)
        if found := condition():
            return found
        assert not left, f"waited for {what} of a process that has ended\n{tell()}"
        assert not late, f"waited {seconds:.0f} s for {what}\n{tell()}"
        time.sleep(pause)


def is_alive(child: int | subprocess.Popen) -> bool:
    """Tell whether a child has not ended; a forked one can still be waited for."""
    if isinstance(child, subprocess.Popen):
        return child.poll() is None
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
