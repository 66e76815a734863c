"""Runs that are to stop: which of them somebody is at, and how these are told.

A SLURM job is cancelled when all of its runs are to stop. Other runs that are under way get a
signal on this machine or a stop file elsewhere; one that was not begun gets a stop file, too.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from s2m.cluster.queue import Queue, ask
from s2m.cluster.state import glance
from s2m.cluster.submission import FOLDER, submission_of
from s2m.console.errors import UserError
from s2m.run.files import open_own
from s2m.run.folder import RunFolder, find_runs
from s2m.run.lock import current_attempt, holds
from s2m.run.status import FAILED, FINISHED, PENDING, QUEUED, RUNNING, STOPPED, UNREADABLE


@dataclass
class Withdrawal:
    """What can be stopped of some runs, as their folders and SLURM's queue have it."""

    queue: Queue | None
    active: list[RunFolder] = field(default_factory=list)
    """Somebody is at them, or SLURM has their job."""
    idle: list[RunFolder] = field(default_factory=list)
    """A launcher may be about to begin them."""
    unreadable: dict[Path, str] = field(default_factory=dict)
    """What is wrong with folders of which nobody can tell."""

    @classmethod
    def of(cls, folders: Iterable[RunFolder], queue: Queue | None) -> "Withdrawal":
        """Sort runs; those that have ended are left out."""
        found = cls(queue)
        for folder in folders:
            state = glance(folder, 0, queue)
            if state.status == UNREADABLE:
                found.unreadable[folder.path] = state.failure
            elif state.status in (QUEUED, RUNNING):
                found.active.append(folder)
            elif state.status in (PENDING, STOPPED):
                # What was submitted and is not in the queue waits for nobody.
                if not folder.submitted.exists() and not folder.stop.exists():
                    found.idle.append(folder)
        return found

    def __len__(self) -> int:
        """How many runs there are to stop."""
        return len(self.active) + len(self.idle)

    def carry_out(self) -> None:
        """Cancel whole jobs, ask the other active runs to stop, and mark the idle ones."""
        jobs = self._whole_jobs()
        if jobs:
            ask("scancel", *jobs)
        for folder in self.active:
            if glance(folder, 0, self.queue).job not in jobs:
                stop(folder)
        for folder in self.idle:
            _mark(folder)

    def _whole_jobs(self) -> list[str]:
        """Return the SLURM jobs all of whose runs that have not ended are to stop."""
        chosen = {folder.path.resolve() for folder in self.active}
        members: dict[str, set[Path]] = defaultdict(set)
        roots = {root for folder in self.active if (root := _root(folder))}
        for root in roots:
            for folder in find_runs(root):
                try:
                    submission = submission_of(folder.submitted)
                except UserError:
                    continue
                # A folder may claim any job: only one that bears the claimed name is its own.
                if not submission or not self.queue:
                    continue
                if not self.queue.find(submission.job, submission.name):
                    continue
                if glance(folder, 0, self.queue).status not in (FINISHED, FAILED):
                    members[submission.job].add(folder.path.resolve())
        return sorted(job for job, paths in members.items() if paths <= chosen)


def _root(folder: RunFolder) -> Path | None:
    """Return the folder of all runs, which holds what jobs need."""
    root = folder.path.resolve().parent.parent
    return root if (root / FOLDER).is_dir() else None


def stop(folder: RunFolder) -> None:
    """Signal a process of this machine; elsewhere the stop file is read at the next iteration."""
    attempt = current_attempt(folder)
    if attempt is not None and attempt.job is None and holds(folder, attempt.pid):
        os.kill(attempt.pid, signal.SIGTERM)
    else:
        _mark(folder)


def _mark(folder: RunFolder) -> None:
    os.close(open_own(folder.stop, os.O_WRONLY))
