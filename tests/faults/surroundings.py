"""Faults of what surrounds a run: a full disk, a folder nobody may write to, clocks that jump."""

import ctypes
import os
import random
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from s2m.console.errors import UserError
from s2m.job import main as job
from s2m.run.folder import RunFolder
from tests.faults.kills import ended_by, in_child

FOREIGNER = 65534
"""The user id of nobody."""


def until_full(folder: RunFolder, size: int) -> int:
    """Attempt a run where no file may grow beyond a size; return how the process ended."""

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        _attempt(folder)

    return ended_by(in_child(work))


def without_rights(folder: RunFolder) -> int:
    """Attempt a run as somebody who may only read it; return how the process ended."""

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(FOREIGNER)
        _attempt(folder)

    for path in [folder.path, *folder.path.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        return ended_by(in_child(work))
    finally:
        for path in [folder.path, *folder.path.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def _attempt(folder: RunFolder) -> None:
    """Do what `python -m s2m.job` does, and end as it does, without its words."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        code = job([str(folder.path)])
    except UserError:
        code = 2
    os._exit(code)


@contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system of a few kilobytes; needs the right to mount."""
    path.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={kilobytes}k".encode()
    if libc.mount(b"tmpfs", str(path).encode(), b"tmpfs", 0, options) != 0:
        raise PermissionError(ctypes.get_errno(), "cannot mount a small file system")
    try:
        yield path
    finally:
        libc.umount2(str(path).encode(), 2)


def enlarge(path: Path, kilobytes: int) -> None:
    """Give a file system that was mounted by `small_disk` more room."""
    libc = ctypes.CDLL(None, use_errno=True)
    remount = 32
    options = f"size={kilobytes}k".encode()
    if libc.mount(b"tmpfs", str(path).encode(), b"tmpfs", remount, options) != 0:
        raise PermissionError(ctypes.get_errno(), "cannot enlarge a file system")


class Jumping(datetime):
    """A clock that jumps by up to ten years, both ways, whenever somebody looks."""

    chance = random.Random(0)

    @classmethod
    def now(cls, tz=None) -> datetime:
        """Return some time."""
        days = cls.chance.uniform(-3650, 3650)
        return datetime(2026, 6, 1, tzinfo=tz or UTC) + timedelta(days=days)


def with_jumping_clock(work: Callable[[], object]) -> None:
    """Work while the clock of the run folders jumps."""
    with mock.patch("s2m.run.clock.datetime", Jumping), mock.patch("time.time", _jump):
        work()


def _jump() -> float:
    return Jumping.now().timestamp()
