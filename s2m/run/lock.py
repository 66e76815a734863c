"""One writer per run folder: an OS lock, and an attempt number where the lock does not reach.

The lock (flock) ends with its process, so a killed run can be resumed at once. Across hosts it
depends on the file system: it may exclude them (NFS with its lock service), not see them (local
locks) or not exist. The attempt record therefore has the last word. Every acquisition raises the
number in `attempt.json`, and a writer asks `still_mine` before it writes a checkpoint or a row: an
orphan on a node that its scheduler has given up finds a higher number and stops itself. What it
may have written until then are rows that the new attempt overwrites and files replaced as a whole.
"""

import os
import secrets
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from s2m.console.errors import UserError
from s2m.run.clock import timestamp
from s2m.run.events import Events
from s2m.run.files import open_own, read_record, remove_temporary, write_sealed
from s2m.run.flock import flock
from s2m.run.folder import RunFolder
from s2m.run.machine import packages, processor
from s2m.run.process import begun


class Busy(UserError):
    """Another process writes to the run folder."""


class Superseded(Busy):
    """A later attempt has taken the folder; this one must not write any more."""


@dataclass(frozen=True)
class Attempt:
    """Who writes to a run folder, or did last; the content of `attempt.json`."""

    number: int
    token: str
    """Random text that tells two attempts apart which took the same number at once."""
    host: str
    pid: int
    started: str
    """UTC time of acquisition."""
    job: str | None
    """SLURM job id."""
    ended: str | None = None
    """UTC time of an orderly end; stays None after a crash."""
    restart: int = 0
    """How often SLURM had started the job again."""
    begun: str = ""
    """When the kernel began the process; empty where it does not say."""
    gpu: str = ""
    """The GPU it computes on: number and model; empty if none."""

    def is_alive(self) -> bool | None:
        """Tell whether the process still runs; None if only its host could know."""
        if self.ended is not None:
            return False
        if self.host != socket.gethostname():
            return None
        # After a restart of the machine another process may have its number.
        found = begun(self.pid)
        return found is not None and (found == self.begun or "" in (found, self.begun))

    def __str__(self) -> str:
        """Say who it is."""
        job = f", SLURM job {self.job}" if self.job else ""
        gpu = f", GPU {self.gpu}" if self.gpu else ""
        who = f"host {self.host}{gpu}, pid {self.pid}{job}"
        return f"attempt {self.number} ({who}) since {self.started}"


def slurm_restarts() -> int:
    """Return how often SLURM has started this job again, after preemption or the loss of a node."""
    return int(os.environ.get("SLURM_RESTART_COUNT", "0"))


def current_attempt(folder: RunFolder) -> Attempt | None:
    """Return the newest attempt on a run folder."""
    if not folder.attempt.exists():
        return None
    try:
        attempt = read_record(folder.attempt, Attempt)
        if attempt.pid <= 0:  # to the kernel that means many processes, not one
            raise UserError(f"{folder.attempt} is damaged: pid is {attempt.pid}")
    except UserError as error:
        raise UserError(f"{error}; delete it if no process works on the run") from None
    return attempt


def holds(folder: RunFolder, pid: int) -> bool:
    """Tell whether a process of this machine has the lock open, whatever `attempt.json` says.

    Only what the kernel says counts before a process is signalled; False where there is no /proc.
    """
    with suppress(OSError):
        wanted = folder.lock.stat()
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(link.stat(), wanted):
                    return True
    return False


class RunLock:
    """The right to write to a run folder, as long as `still_mine` says so."""

    def __init__(self, folder: RunFolder, attempt: Attempt, descriptor: int) -> None:
        """Hold what `acquire` has taken."""
        self.attempt = attempt
        self._folder = folder
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, folder: RunFolder, steal: bool = False, gpu: str = "") -> "RunLock":
        """Become the writer of a run folder, or raise Busy, which says who is.

        `gpu` is the card that the writer computes on.

        With `steal` the present holder loses the folder: for a scheduler that has declared its node
        dead, when the lock may still be held by an orphan or not yet be given up by the server.
        """
        folder.refuse_links()
        descriptor = _take(folder)
        stolen = descriptor is None
        if descriptor is None:
            if not steal:
                raise Busy(_held(folder))
            descriptor = _replace(folder.lock)
        try:
            attempt = _begin(folder, stolen, gpu)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(folder, attempt, descriptor)

    def still_mine(self) -> bool:
        """Tell whether no later attempt has taken the folder; costs one read of a small file.

        A record that is gone is written again.
        """
        newest = current_attempt(self._folder)
        if newest is None and self._holds():
            newest = self.attempt
            write_sealed(self._folder.attempt, asdict(newest))
            _note_restored(self._folder, newest)
        return newest is not None and newest.token == self.attempt.token

    def make_sure(self) -> None:
        """Refuse to write into a folder that has been taken over."""
        if not self.still_mine():
            path = self._folder.path
            raise Superseded(f"{path} was taken over by a later attempt or deleted; leaving")

    def _holds(self) -> bool:
        """Tell whether the lock is still this one: whoever takes the folder replaces it first."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._descriptor), self._folder.lock.stat())
        return False

    def release(self) -> None:
        """Note the orderly end and give the folder free."""
        if self.still_mine():
            write_sealed(self._folder.attempt, asdict(replace(self.attempt, ended=timestamp())))
        os.close(self._descriptor)

    def __enter__(self) -> "RunLock":
        """Hold the lock for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()


def _begin(folder: RunFolder, stolen: bool, gpu: str) -> Attempt:
    former = current_attempt(folder)
    # Should the record be lost, the events still tell how many attempts there were.
    before = [event.get("attempt") for event in Events(folder).read()]
    numbers = [former.number if former else 0, *(n for n in before if isinstance(n, int))]
    attempt = Attempt(
        number=max(numbers) + 1,
        token=secrets.token_hex(8),
        host=socket.gethostname(),
        pid=os.getpid(),
        started=timestamp(),
        job=os.environ.get("SLURM_JOB_ID"),
        restart=slurm_restarts(),
        begun=begun(os.getpid()) or "",
        gpu=gpu,
    )
    write_sealed(folder.attempt, asdict(attempt))
    remove_temporary(folder.path)
    if former is not None and former.ended is None and not stolen:
        Events(folder, former.number).append("died", reason="it ended without a word")
    Events(folder, attempt.number).append(
        "attempt", host=attempt.host, pid=attempt.pid, job=attempt.job, stolen=stolen,
        processor=processor(), packages=packages(), gpu=gpu,
    )  # fmt: skip
    if attempt.number > 1 and former is None:
        _note_restored(folder, attempt)
    return attempt


def _note_restored(folder: RunFolder, attempt: Attempt) -> None:
    reason = f"{folder.attempt.name} was gone"
    Events(folder, attempt.number).append("attempt_restored", reason=reason)


def _take(folder: RunFolder) -> int | None:
    """Return a descriptor that holds the lock, or None if someone else does."""
    while True:
        descriptor = open_own(folder.lock, os.O_RDWR)
        locked = flock(descriptor)
        if locked is None:
            former = current_attempt(folder)
            locked = former is None or former.is_alive() is False
        if not locked:
            os.close(descriptor)
            return None
        # A thief may have replaced the file meanwhile: only a lock on the present one counts.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), folder.lock.stat()):
                return descriptor
        os.close(descriptor)


def _replace(path: Path) -> int:
    """Put a locked file in the place of one whose holder does not give it up."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    flock(descriptor)
    fresh.replace(path)
    return descriptor


def _held(folder: RunFolder) -> str:
    holder = current_attempt(folder)
    if holder is None or holder.ended is not None:
        return f"{folder.path} is being locked by another process: try again"
    return f"{folder.path} is being written by {holder}: wait for it or stop it"
