"""One sender per run folder, so that no row goes to W&B twice at the same time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from s2m.run.files import open_own
from s2m.run.flock import flock
from s2m.run.folder import RunFolder


@contextmanager
def sender(folder: RunFolder) -> Iterator[bool]:
    """Tell whether this process may send the run, for the length of the block.

    Where the file system has no locks everybody may: rows that arrive twice count once.
    """
    descriptor = open_own(folder.tracking_lock, os.O_RDWR)
    try:
        yield flock(descriptor) is not False
    finally:
        os.close(descriptor)
