"""Runs that are to stop: which of them somebody is at, and how these are told.

A SLURM job is cancelled when all of its runs are to stop. Other runs that are under way get a
signal on this machine or a stop file elsewhere; one that was not begun gets a stop file, too. When
whole experiments are to stop, the commands after their runs are cancelled as well.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from s2m.cluster.chain import cancel
from s2m.cluster.followup import Step, find_steps
from s2m.cluster.manifest import Submission, me
from s2m.cluster.queue import Place, Queue
from s2m.cluster.state import glance
from s2m.run.files import open_own
from s2m.run.folder import RunFolder
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
    commands: list[Step] = field(default_factory=list)
    """Commands after the runs whose jobs SLURM has."""

    @classmethod
    def of(
        cls, folders: Iterable[RunFolder], queue: Queue | None, places: Sequence[Path] = ()
    ) -> "Withdrawal":
        """Sort runs; those that have ended are left out.

        `places` are the folders that were named: commands after a sweep belong to its experiment.
        """
        found = cls(queue)
        for place in places:
            # A run alone has no experiment below it.
            top = place.absolute() if any(place.glob("*/*/run.json")) else place.absolute().parent
            for step in find_steps(top):
                inside = step.record.absolute().is_relative_to(place.absolute())
                if inside and queue and (at := queue.of_command(step.record)) and at.job:
                    found.commands.append(step)
        for folder in folders:
            state = glance(folder, 0, queue)
            if state.status == UNREADABLE:
                found.unreadable[folder.path] = state.failure
            elif state.status in (QUEUED, RUNNING):
                found.active.append(folder)
            elif state.status in (PENDING, STOPPED):
                # What was submitted and is not in the queue waits for nobody.
                submitted = queue is not None and queue.of(folder.path) is not None
                if not submitted and not folder.stop.exists():
                    found.idle.append(folder)
        return found

    def __len__(self) -> int:
        """How many runs there are to stop."""
        return len(self.active) + len(self.idle) + len(self.commands)

    def carry_out(self) -> None:
        """Cancel whole jobs, ask the other active runs to stop, and mark the idle ones."""
        jobs = self._whole_jobs()
        cancel([*self._by_array(jobs), *self._jobs_of_commands()])
        for folder in self.active:
            place = self.queue.of(folder.path) if self.queue else None
            if place is None or place.id not in jobs:
                stop(folder)
        for folder in self.idle:
            _mark(folder)

    def _by_array(self, jobs: Mapping[str, tuple[Submission, str]]) -> set[tuple[Submission, str]]:
        """Name an array that is to be cancelled as a whole by its own id."""
        found = set()
        for job, (entry, _) in jobs.items():
            live = [other.id for other in self.queue.jobs(entry).values()] if self.queue else []
            whole = all(other in jobs for other in live)
            found.add((entry, job.split("_")[0] if whole else job))
        return found

    def _jobs_of_commands(self) -> list[tuple[Submission, str]]:
        places = [self.queue.of_command(step.record) for step in self.commands if self.queue]
        return [(place.submission, place.id) for place in places if place and _is_ours(place)]

    def _whole_jobs(self) -> dict[str, tuple[Submission, str]]:
        """Return the SLURM jobs all of whose runs that have not ended are to stop, by their ids.

        The manifest says who shares a job; others' jobs are theirs to cancel.
        """
        if self.queue is None:
            return {}
        chosen = {folder.path.absolute() for folder in self.active}
        members: dict[str, set[Path]] = defaultdict(set)
        entries: dict[str, tuple[Submission, str]] = {}
        for folder in self.active:
            root = folder.path.absolute().parent.parent
            for entry, array in self.queue.live(folder.path):
                for index, job in self.queue.jobs(entry).items():
                    pack = entry.manifest.packs[index]
                    if entry.manifest.user != me() or job.array != array:
                        continue
                    entries[job.id] = (entry, job.id)
                    for run in pack:
                        other = RunFolder(root / run)
                        if glance(other, 0, self.queue).status not in (FINISHED, FAILED):
                            members[job.id].add(other.path)
        return {job: entries[job] for job, paths in members.items() if paths <= chosen}


def _is_ours(place: Place) -> bool:
    return place.job is not None and place.submission.manifest.user == me()


def stop(folder: RunFolder) -> None:
    """Signal a process of this machine; elsewhere the stop file is read at the next iteration."""
    attempt = current_attempt(folder)
    if attempt is not None and attempt.job is None and holds(folder, attempt.pid):
        os.kill(attempt.pid, signal.SIGTERM)
    else:
        _mark(folder)


def _mark(folder: RunFolder) -> None:
    os.close(open_own(folder.stop, os.O_WRONLY))
