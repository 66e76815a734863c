"""One sender per run folder, so that no row goes to W&B twice at the same time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from s2m.run.files import open_own
from s2m.run.folder import RunFolder


@contextmanager
def sender(folder: RunFolder) -> Iterator[bool]:
    """Tell whether this process may send the run, for the length of the block.

    Where the file system has no locks everybody may: rows that arrive twice count once.
    """
    descriptor = open_own(folder.tracking_lock, os.O_RDWR)
    try:
        mine = True
        with suppress(OSError):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                mine = False
        yield mine
    finally:
        os.close(descriptor)
