"""SLURM's commands and what they answer: its queue, its history, its partitions and limits."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from s2m.console.errors import UserError

WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
NO_CONTROLLER = "SLURM's commands are here, but no controller answers (no slurm.conf?)"
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
    elapsed: float | None = None
    """Seconds since its present start; None if it waits, or SLURM does not say."""

    @property
    def waits(self) -> bool:
        """Whether it is not (or no longer) running."""
        return self.state in WAITING

    @property
    def array(self) -> str:
        """The id of the whole array."""
        return self.id.split("_")[0]

    @property
    def index(self) -> int:
        """Which element it is; 0 if it is alone."""
        return int(self.id.partition("_")[2] or 0)


class SlurmError(UserError):
    """SLURM refused something or did not answer."""


def ask(*command: str, hold: Sequence[int] = ()) -> str:
    """Run one of SLURM's commands and return what it prints; it keeps some descriptors open."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
            pass_fds=hold,
        )  # fmt: skip
    except FileNotFoundError:
        raise SlurmError(
            f"SLURM is not installed here (no {command[0]}): log in to a cluster, or start a "
            "private one (slurm/README.md)"
        ) from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} did not answer within {SECONDS:.0f} s") from None
    if done.returncode != 0:
        said = f"{command[0]}: {complaint(done.stderr)}"
        raise SlurmError(f"{NO_CONTROLLER}: {said}" if is_unconfigured(done.stderr) else said)
    return done.stdout


def is_unconfigured(text: str) -> bool:
    """Tell whether a command of SLURM's found nothing that says where its controller is."""
    return re.search(r"configuration (source|file)|failed to fetch config", text) is not None


def complaint(text: str) -> str:
    """Return what tells in an error message of SLURM's: its last error, and the limit it names."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    found = [re.sub(r"^\w+: (error: )?", "", line) for line in errors or lines]
    # The reason stands in a line of its own before: QOSMinGRES, AssocMaxSubmitJobLimit.
    named = [line for line in found[:-1] if re.fullmatch(r"(QOS|Assoc|Grp|Max)\w+", line)]
    return ": ".join([*named, *found[-1:]]) or "no reason given"


def at(cluster: str) -> list[str]:
    """Return the option that names a cluster of a site with several."""
    return [f"--clusters={cluster}"] if cluster else []


def partitions(cluster: str = "") -> tuple[list[str], bool]:
    """Return the names of the partitions, and whether one of them is the default."""
    lines = ask("sinfo", "--noheader", "--format=%P", *at(cluster)).splitlines()
    names = [line.strip() for line in lines if not line.startswith("CLUSTER:")]
    return [name.rstrip("*") for name in names if name], any(n.endswith("*") for n in names)


@cache
def _config(cluster: str, *_: str | None) -> str:
    return ask("scontrol", *at(cluster), "show", "config")


def settings(name: str, cluster: str = "") -> str:
    """Return a setting of the controller; empty if it does not say."""
    # Whose controller that is, the environment says.
    text = _config(cluster, os.environ.get("SLURM_CONF"), os.environ.get("PATH"))
    found = re.search(rf"^{name}\s*=\s*(\S.*?)\s*$", text, re.M)
    return found[1] if found else ""


def hides_jobs() -> bool:
    """Tell whether squeue shows everybody their own jobs only."""
    return "jobs" in settings("PrivateData")


USUAL_ARRAY_SIZE = 1001
"""MaxArraySize of a cluster that does not set it."""


def max_array_size(cluster: str = "") -> int:
    """Return how many elements an array may have."""
    found = settings("MaxArraySize", cluster)
    return int(found) if found.isdecimal() else USUAL_ARRAY_SIZE


def listed(*options: str) -> list[Job]:
    """Return jobs of the queue, one for each element of an array."""
    lines = ask("squeue", "--noheader", "--array", "--format=%i|%A|%j|%T|%r|%M", *options)
    found = [line.split("|") for line in lines.splitlines() if line.count("|") >= 4]
    jobs = []
    for id, number, name, state, reason, *time in found:
        if re.fullmatch(r"\d+(_\d+)?", id):
            job = Job(id, number, name, state, reason)
            jobs.append(job if job.waits else replace(job, elapsed=_seconds("".join(time))))
    return jobs


def _seconds(time: str) -> float | None:
    """Read a time as SLURM writes it, 1-02:03:04 or 03:04; None if it is none."""
    if not re.fullmatch(r"(\d+-)?(\d+:)?\d+:\d+", time.strip()):
        return None
    days, _, rest = time.strip().rpartition("-")
    hours, minutes, seconds = [0, *map(int, rest.split(":"))][-3:]
    return 86400.0 * int(days or 0) + 3600 * hours + 60 * minutes + seconds


def job_named(name: str, *options: str) -> str:
    """Return the id of the job with a name, as SLURM or its accounting has it; empty if none."""
    for job in listed(f"--name={name}", *options):
        if job.name == name:
            return job.array
    if shutil.which("sacct") is None:
        return ""
    with suppress(SlurmError):
        lines = ask(
            "sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-30days",
            f"--name={name}", "--format=JobID,JobName", *options,
        )  # fmt: skip
        for line in lines.splitlines():
            job, _, found = line.partition("|")
            if found == name and (number := re.match(r"\d+", job)):
                return number[0]
    return ""


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
