"""What SLURM says about jobs: its queue, its history, its partitions and limits."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from s2m.console.errors import UserError

WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
SECONDS = 30.0
"""How long to wait for an answer."""


@dataclass(frozen=True)
class Job:
    """One job, or one element of an array."""

    id: str
    """As SLURM writes it: 12 or 12_3."""
    number: str
    """SLURM_JOB_ID, which every element of an array has for itself."""
    name: str
    state: str
    reason: str

    @property
    def waits(self) -> bool:
        """Whether it is not (or no longer) running."""
        return self.state in WAITING


class Queue:
    """The jobs of this user that SLURM has not yet finished with."""

    def __init__(self, jobs: list[Job], silent: bool = False) -> None:
        """Index the jobs by both of their ids; `silent` if SLURM did not answer."""
        self.silent = silent
        self._by_id = {job.id: job for job in jobs}
        self._by_number = {job.number: job for job in jobs}

    @classmethod
    def read(cls) -> "Queue | None":
        """Ask SLURM; None where there is none, a silent queue where it does not answer."""
        if shutil.which("squeue") is None:
            return None
        try:
            lines = ask("squeue", "--me", "--noheader", "--array", "--format=%i|%A|%j|%T|%r")
        except SlurmError:
            return cls([], silent=True)
        jobs = [Job(*line.split("|", 4)) for line in lines.splitlines() if line.count("|") >= 4]
        return cls(jobs)

    def find(self, job_id: str, name: str) -> Job | None:
        """Return a job by its id; a name that differs belongs to a later job with the same id."""
        job = self._by_id.get(job_id)
        return job if job is not None and job.name == name else None

    def has(self, number: str) -> bool | None:
        """Tell whether a job, by its SLURM_JOB_ID, is on a node; None if SLURM does not say."""
        if self.silent:
            return None
        job = self._by_number.get(number)
        return job is not None and not job.waits


class SlurmError(UserError):
    """SLURM refused something or did not answer."""


def ask(*command: str) -> str:
    """Run one of SLURM's commands and return what it prints."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        raise SlurmError(
            f"SLURM is not installed here (no {command[0]}): log in to a cluster, or start a "
            "private one (slurm/README.md)"
        ) from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} did not answer within {SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise SlurmError(f"{command[0]}: {complaint(done.stderr)}")
    return done.stdout


def complaint(text: str) -> str:
    """Return the telling line of an error message of SLURM's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    found = (errors or lines or ["no reason given"])[-1]
    return re.sub(r"^\w+: (error: )?", "", found)


def partitions() -> tuple[list[str], bool]:
    """Return the names of the partitions, and whether one of them is the default."""
    names = ask("sinfo", "--noheader", "--format=%P").split()
    return [name.rstrip("*") for name in names], any(name.endswith("*") for name in names)


USUAL_ARRAY_SIZE = 1001
"""MaxArraySize of a cluster that does not set it."""


def max_array_size() -> int:
    """Return how many elements an array may have."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config"), re.M)
    return int(found[1]) if found else USUAL_ARRAY_SIZE


AT_ONCE = 1000
"""Jobs in one question: a word of a command may have 128 kB."""


def final_states(jobs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return how jobs, given by id and name, ended; nothing where there is no accounting."""
    names = dict(jobs)
    if not names or shutil.which("sacct") is None:
        return {}
    order, answers = sorted(names), []
    for i in range(0, len(order), AT_ONCE):
        try:
            answers += ask(
                "sacct", "--noheader", "--parsable2", "--allocations", "--array",
                f"--jobs={','.join(order[i : i + AT_ONCE])}", "--format=JobID,JobName,State",
            ).splitlines()  # fmt: skip
        except SlurmError:
            return {}
    found = [line.split("|") for line in answers]
    return {job: state.split()[0] for job, name, state in found if names.get(job) == name}
