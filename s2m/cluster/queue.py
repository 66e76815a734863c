"""What was submitted below folders of runs, joined with what SLURM says of it."""

import pwd
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from s2m.cluster.commands import (
    Job,
    SlurmError,
    at,
    final_states,
    hides_jobs,
    job_named,
    listed,
    settings,
)
from s2m.cluster.manifest import Ledger, Manifest, Submission, me, roots_of


@dataclass(frozen=True)
class Place:
    """Where something was submitted: an element of a job, and what can be known of it."""

    submission: Submission
    index: int
    job: Job | None
    """The job, while SLURM has it."""
    unknown: str = ""
    """Why nobody here can tell whether SLURM has it."""

    @property
    def id(self) -> str:
        """SLURM's id; empty if that was never noted."""
        return self.job.id if self.job else self.submission.manifest.element(self.index)

    def logs(self) -> list[Path]:
        """Return what SLURM wrote for it: its output and its errors."""
        return self.submission.logs(self.index)

    @property
    def rank(self) -> int:
        """How much it says about where a run stands: running, waiting, perhaps there, gone."""
        return 3 - self.job.waits if self.job else int(bool(self.unknown))

    @property
    def whose(self) -> str:
        """Say who has submitted it, and how to take over if it is gone."""
        manifest = self.submission.manifest
        job = f"job {self.id}" if self.id else f"the job {manifest.name}"
        return (
            f"{manifest.user}'s {job} on cluster {manifest.cluster or '?'}: {self.unknown}; "
            f"if it is gone, delete {self.submission.file}"
        )


class Queue:
    """What was submitted below folders of runs, and what SLURM has not yet finished with."""

    def __init__(
        self,
        jobs: Iterable[Job],
        silent: bool = False,
        ledgers: Iterable[Ledger] = (),
        asked: "Inquiry | None" = None,
    ) -> None:
        """Index the jobs; `silent` if SLURM did not answer, `asked` what its answer covers."""
        self.silent, self.asked = silent, asked or Inquiry()
        self.ledgers = {ledger.root: ledger for ledger in ledgers}
        self._by_name: dict[str, dict[int, Job]] = {}
        self._by_number = {}
        for job in jobs:
            self._by_name.setdefault(job.name, {})[job.index] = job
            self._by_number[job.number] = job

    @classmethod
    def read(cls, *roots: Path) -> "Queue | None":
        """Ask SLURM about all who have submitted anything at or above some folders, and me.

        Returns None where there is no SLURM and nothing was submitted, and a silent queue where it
        does not answer.
        """
        ledgers = [Ledger.read(root) for root in roots_of(roots)]
        open_ones = [e.manifest for led in ledgers for e in led.entries if not e.manifest.over]
        if shutil.which("squeue") is None:
            return cls([], ledgers=ledgers, asked=Inquiry(absent=True)) if open_ones else None
        users = {me(), *(m.user for m in open_ones if _exists(m.user))}
        try:
            jobs = listed(f"--user={','.join(sorted(users))}")
            # A site with several clusters is asked about the others that were named.
            others = {m.clusters for m in open_ones if m.clusters}
            for name in sorted(others):
                jobs += listed(f"--user={','.join(sorted(users))}", f"--clusters={name}")
            asked = Inquiry(settings("ClusterName"), frozenset(others), hides_jobs())
        except SlurmError:
            return cls([], silent=True, ledgers=ledgers)
        return cls(jobs, ledgers=ledgers, asked=asked)

    @classmethod
    def gone(cls, root: Path) -> "Queue":
        """Return what was submitted below a folder as if all of its jobs had ended."""
        return cls([], ledgers=[Ledger.read(root)], asked=Inquiry(everywhere=True))

    def jobs(self, submission: Submission) -> dict[int, Job]:
        """Return the jobs of a submission that SLURM has, by element."""
        return self._by_name.get(submission.manifest.name, {})

    def of(self, run: Path) -> Place | None:
        """Return where a run was submitted: the job that is at it, or else the last one."""
        path = run.absolute()
        ledger = self.ledgers.get(path.parent.parent)
        if ledger is None:
            return None
        entries = ledger.of_run(f"{path.parent.name}/{path.name}")
        return max((self._place(*entry) for entry in entries), key=_latest, default=None)

    def live(self, run: Path) -> list[tuple[Submission, str]]:
        """Return all submissions of a run whose job SLURM has, with the ids of the jobs."""
        path = run.absolute()
        ledger = self.ledgers.get(path.parent.parent)
        entries = ledger.of_run(f"{path.parent.name}/{path.name}") if ledger else []
        found = [(entry, self.jobs(entry).get(index)) for entry, index in entries]
        return [(entry, job.array) for entry, job in found if job]

    def of_command(self, record: Path) -> Place | None:
        """Return where a command after a sweep was submitted."""
        ledger = self.ledgers.get(record.parent.parent.parent)
        entries = ledger.of_command(record) if ledger else []
        return max((self._place(entry, 0) for entry in entries), key=_latest, default=None)

    def _place(self, submission: Submission, index: int) -> Place:
        job = self.jobs(submission).get(index)
        return Place(submission, index, job, "" if job else self._unknown(submission, index))

    def _unknown(self, submission: Submission, index: int) -> str:
        """Say why nobody here knows of a job that SLURM has not told of; empty if it is gone."""
        manifest, asked = submission.manifest, self.asked
        if manifest.over or asked.everywhere:
            return ""
        if self.silent:
            return "squeue does not answer"
        if asked.absent:
            reason = "there is no SLURM here"
        elif not asked.covers(manifest):
            reason = f"this is cluster {asked.cluster}"
        elif asked.hides_jobs and manifest.user != me():
            reason = "squeue does not show the jobs of others"
        else:
            return ""
        return "" if submission.exit_code(index) is not None else reason

    def add(self, root: Path, entry: Submission) -> None:
        """Add what SLURM has just accepted."""
        place = root.absolute()
        known = self.ledgers.get(place, Ledger(place)).entries
        self.ledgers[place] = Ledger(place, [*known, entry])
        manifest = entry.manifest
        self._by_name[manifest.name] = {
            index: Job(manifest.element(index), "", manifest.name, "PENDING", "")
            for index in range(len(manifest.packs) or 1)
        }

    def settle(self) -> None:
        """Bring the manifests of this user up to date, as the one who launches.

        A job whose launcher died before sbatch answered is found by its name, or was never
        submitted; one that SLURM has no more is over.
        """
        for ledger in self.ledgers.values():
            for entry in [*ledger.entries]:
                manifest = entry.manifest
                ours = manifest.user == me() and self.asked.covers(manifest)
                if not ours or manifest.over:
                    continue
                jobs = self.jobs(entry)
                job = manifest.job or next((job.array for job in jobs.values()), "")
                job = job or entry.traces() or job_named(manifest.name, *at(manifest.clusters))
                if not job:
                    entry.withdraw()
                    ledger.entries.remove(entry)
                elif not jobs:
                    entry.note(job=job, over=True)
                elif not manifest.job:
                    entry.note(job=job)

    def has_failed(self, place: Place) -> bool:
        """Tell whether the accounting has a job, which left no exit code, as failed."""
        return self._final.get(place.id, "") == "FAILED"

    @cached_property
    def _final(self) -> dict[str, str]:
        """How all jobs ended that left no exit code, in one question."""
        return final_states(
            (place.id, entry.manifest.name)
            for ledger in self.ledgers.values()
            for entry in ledger.entries
            for index in range(len(entry.manifest.packs))
            if (place := self._place(entry, index)).id and not (place.job or place.unknown)
            if entry.exit_code(index) is None
        )

    def has(self, number: str) -> bool | None:
        """Tell whether a job, by its SLURM_JOB_ID, is on a node; None if SLURM does not say."""
        if self.silent or self.asked.absent:
            return None
        job = self._by_number.get(number)
        return job is not None and not job.waits


@dataclass(frozen=True)
class Inquiry:
    """What an answer of squeue covers."""

    cluster: str = ""
    """The cluster that was asked."""
    others: frozenset[str] = frozenset()
    """Clusters of the same site that were asked as well."""
    hides_jobs: bool = False
    """Whether one sees one's own jobs only."""
    absent: bool = False
    """Whether there is no SLURM to ask."""
    everywhere: bool = False
    """Whether all jobs are known to have ended."""

    def covers(self, manifest: Manifest) -> bool:
        """Tell whether a job would be in the answer."""
        if manifest.clusters:
            return manifest.clusters in self.others
        return self.cluster in ("", manifest.cluster)


def _latest(place: Place) -> tuple[int, int]:
    return place.rank, place.submission.manifest.number


def _exists(user: str) -> bool:
    """Tell whether this machine knows a user; squeue refuses a list with one that it does not."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
