"""The lock under which runs are planned and submitted, one launch at a time."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from s2m.console.errors import UserError
from s2m.console.text import one_line
from s2m.run.flock import flock

LOCK_SECONDS = 300.0
QUIET_SECONDS = 1.0
"""A wait that needs no word."""


@contextmanager
def launch_lock(root: Path, say: Callable[[str], object] = print) -> Iterator[int]:
    """Let one launch at a time plan and submit; others wait and then see what it has done.

    Yields the descriptor of the lock: a command that is given it holds the lock until it ends, even
    if the launch is killed.
    """
    path = root / ".launch.lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", errors="replace")
    except OSError as error:
        raise UserError(f"cannot write to the folder of runs {root}: {error.strerror}") from None
    with file:
        began, told = time.monotonic(), False
        # A file system without locks lets everybody pass: the run folders' own rules still hold.
        while flock(file.fileno()) is False:
            waited = time.monotonic() - began
            if waited > LOCK_SECONDS:
                raise UserError(f"another launch{_holder(file)} has held {path} for 5 minutes")
            if waited > QUIET_SECONDS and not told:
                say(f"waiting for another launch{_holder(file)}, which holds {path}")
                told = True
            time.sleep(0.1)
        _sign(file)
        yield file.fileno()


def _sign(file: TextIO) -> None:
    """Tell those who wait for the lock who has it."""
    with suppress(OSError):  # a full disk, which forbids nothing by itself
        file.truncate(0)
        file.write(f"host {socket.gethostname()}, pid {os.getpid()}")
        file.flush()


def _holder(file: TextIO) -> str:
    file.seek(0)
    words = one_line(file.read(100))
    return f" ({words})" if words else ""
