"""What is left to do of the commands after a sweep, and what their jobs have to wait for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from s2m.cluster.commands import Job, ask, at
from s2m.cluster.followup import ENDED, Step, results_of
from s2m.cluster.manifest import Submission, me
from s2m.cluster.queue import Queue
from s2m.cluster.state import glance
from s2m.run.folder import RunFolder


@dataclass
class Chain:
    """Commands in their order, and the runs that all of them read."""

    steps: Sequence[Step]
    runs: Sequence[RunFolder]
    queue: Queue | None
    cluster: str = ""
    """Where the commands are to run: a job can wait for those of its own cluster only."""
    ahead: dict[str, str] = field(init=False, default_factory=dict)
    """The live jobs of runs that have not ended: SLURM's ids by the names of the submissions."""
    elsewhere: dict[str, str] = field(init=False, default_factory=dict)
    """Other runs that have not ended, with where they stand."""

    def __post_init__(self) -> None:
        """Look at the runs."""
        for folder in self.runs if self.steps else ():
            status = glance(folder, 0, self.queue).status
            if status in ENDED:
                continue
            live = self.queue.live(folder.path) if self.queue else []
            here = {
                entry.manifest.name: jobs
                for entry, jobs in live
                if entry.manifest.cluster == self.cluster
            }
            self.ahead.update(here)
            if not here:
                self.elsewhere[folder.path.name] = status

    @property
    def names(self) -> list[str]:
        """The runs as manifests name them."""
        return [f"{run.path.parent.name}/{run.path.name}" for run in self.runs]

    @cached_property
    def results(self) -> dict[str, str]:
        """What the runs have become."""
        return results_of(self.runs)

    def job(self, step: Step) -> Job | None:
        """Return the job of a command, if SLURM has it."""
        place = self.queue.of_command(step.record) if self.queue else None
        return place.job if place else None

    def is_right(self, step: Step) -> bool:
        """Tell whether the job of a command comes after all of these runs."""
        place = self.queue.of_command(step.record) if self.queue else None
        if place is None or place.job is None:
            return False
        manifest = place.submission.manifest
        return set(manifest.reads) == set(self.names) and self.ahead.keys() <= {*manifest.after}

    def is_done(self, step: Step) -> bool:
        """Tell whether a command has read what the runs are, for good."""
        return not self.ahead and not self.elsewhere and step.has_read(self.results)

    def due(self) -> list[Step]:
        """Return the commands from the first one on that is neither done nor rightly submitted."""
        for number, step in enumerate(self.steps):
            if not (self.is_right(step) or (self.job(step) is None and self.is_done(step))):
                return list(self.steps[number:])
        return []

    def before(self, step: Step) -> Job | None:
        """Return the job of the command before one, if SLURM has it."""
        place = self.steps.index(step)
        return self.job(self.steps[place - 1]) if place else None

    def waiting(self) -> str:
        """Say for which runs the commands wait."""
        named = [f"{name} is {status}" for name, status in self.elsewhere.items()]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        return ", ".join(named[:3]) + more


def withdraw(steps: Sequence[Step], queue: Queue | None) -> int:
    """Cancel this user's jobs of commands, which come after the wrong runs; return how many."""
    places = [place for s in steps if queue and (place := queue.of_command(s.record))]
    ours = [place for place in places if place.submission.manifest.user == me()]
    return cancel([(place.submission, place.job.array) for place in ours if place.job])


def cancel(jobs: Collection[tuple[Submission, str]]) -> int:
    """Cancel jobs, given by id with what they are for; return how many."""
    for cluster in {entry.manifest.clusters for entry, _ in jobs}:
        ids = sorted(job for entry, job in jobs if entry.manifest.clusters == cluster)
        ask("scancel", *at(cluster), *ids)
    return len(jobs)
