"""What a job is for, on the shared disk before SLURM hears of it.

A launch writes a manifest first and calls sbatch then; the answer only adds the job's id. Whoever
launches into the same folder later, from another shell, as another user or on another cluster, sees
what was submitted, and a job reads its work here. A manifest that is gone was withdrawn: a job that
comes up all the same leaves.
"""

import os
import pwd
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from s2m.console.errors import UserError
from s2m.run.clock import timestamp
from s2m.run.files import read_record, write_sealed
from s2m.run.finding import why_closed

FOLDER = ".slurm"
"""Below the folder of all runs: a folder per submission, and the code that the jobs run."""
FILE = "manifest.json"
JOB_FILE = "job.sh"
"""The script that sbatch is given."""
_FORMS = {
    "name": re.compile(r"s2m-[\w.+-]{1,200}"),
    "job": re.compile(r"[0-9]{0,12}"),
    "user": re.compile(r"[\w.@$+-]{1,64}"),
    "cluster": re.compile(r"[\w.+-]{0,64}"),
}
"""What the texts look like that become words of SLURM's commands, whoever wrote them."""


@dataclass(frozen=True)
class Manifest:
    """One job, or one array of jobs: the packs of runs that it executes, or one command."""

    name: str
    """The job's name, which no other submission has."""
    number: int
    """Its place among all submissions below a folder of runs."""
    user: str
    cluster: str
    """SLURM's name of the cluster."""
    code: str
    """The copy of the code that it runs."""
    created: str
    """UTC time."""
    experiment: str = ""
    packs: list = field(default_factory=list)
    """Per element of the array the runs it executes, as EXPERIMENT/RUN."""
    attempts: list = field(default_factory=list)
    """How many attempts each of these had when it was submitted."""
    threads: int = 1
    max_requeues: int = 0
    command: list = field(default_factory=list)
    """A command after a sweep, as the interpreter is given it."""
    record: str = ""
    """The name of the file, among those of the experiment, that tells of its success."""
    reads: list = field(default_factory=list)
    """The runs that the command reads, as EXPERIMENT/RUN."""
    after: list = field(default_factory=list)
    """Names of the submissions that it waits for."""
    clusters: str = ""
    """The cluster that sbatch was told to use (--clusters), if any."""
    job: str = ""
    """SLURM's id; empty until sbatch has answered."""
    over: bool = False
    """Whether SLURM was seen to have it no longer."""

    @property
    def runs(self) -> list[str]:
        """The runs of all packs."""
        return [run for pack in self.packs for run in pack]

    def element(self, index: int) -> str:
        """Return SLURM's id of an element; empty while the job has none."""
        return f"{self.job}_{index}" if self.job and len(self.packs) > 1 else self.job


class Submission:
    """A manifest in its folder, with the script and logs of its jobs."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Name the files."""
        self.folder, self.manifest = folder, manifest
        self.file = folder / FILE

    @classmethod
    def open(cls, folder: Path) -> "Submission":
        """Read the manifest in a folder; a UserError if it is gone or damaged."""
        manifest = read_record(folder / FILE, Manifest)
        for name, form in _FORMS.items():
            if not form.fullmatch(value := getattr(manifest, name)):
                raise UserError(f"{folder / FILE} is damaged: {name} is {value[:40]!r}")
        runs, counts = manifest.packs, manifest.attempts
        if not (
            all(_are(str, pack) for pack in runs)
            and all(_are(int, pack) for pack in counts)
            and [len(pack) for pack in runs] == [len(pack) for pack in counts]
            and all(_are(str, m) for m in (manifest.command, manifest.reads, manifest.after))
        ):
            raise UserError(f"{folder / FILE} is damaged: its lists are none of a job")
        return cls(folder, manifest)

    def write(self) -> None:
        """Store the manifest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_sealed(self.file, asdict(self.manifest))

    def note(self, **changes: str | bool) -> None:
        """Change what is known of the job: its id, or that it is over."""
        self.manifest = replace(self.manifest, **changes)  # pyright: ignore[reportArgumentType]
        self.write()

    def withdraw(self) -> None:
        """Take the work away from a job that may yet come up."""
        self.file.unlink(missing_ok=True)
        if not self.traces():
            shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self, index: int) -> list[Path]:
        """Return what SLURM wrote for an element: its output and its errors."""
        job = self.manifest.element(index)
        return [self.folder / f"{job}_0_log.{kind}" for kind in ("out", "err")] if job else []

    def exit_file(self, index: int) -> Path:
        """Return where the script of an element notes its exit code, if it ends by itself."""
        return self.folder / f"{index}.exit"

    def exit_code(self, index: int) -> int | None:
        """Return how an element ended; None if it has not, or could not say so."""
        with suppress(OSError, ValueError):
            return int(self.exit_file(index).read_text(errors="replace"))
        return None

    def traces(self) -> str:
        """Return the id that the logs of jobs bear in their names; empty if none has begun."""
        for path in self.folder.glob("*_log.out"):
            if found := re.match(r"(\d{1,12})_", path.name):
                return found[1]
        return ""


def _are(kind: type, items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, kind) for item in items)


@dataclass(frozen=True)
class Ledger:
    """All submissions below a folder of runs, in their order."""

    root: Path
    entries: list[Submission] = field(default_factory=list)

    @classmethod
    def read(cls, root: Path) -> "Ledger":
        """Read what is there; a damaged manifest is that of no job that could work."""
        found = []
        for path in (root / FOLDER).glob(f"*/{FILE}"):
            with suppress(UserError):
                found.append(Submission.open(path.parent))
        return cls(root, sorted(found, key=lambda entry: entry.manifest.number))

    @cached_property
    def _of_runs(self) -> dict[str, list[tuple[Submission, int]]]:
        found: dict[str, list[tuple[Submission, int]]] = {}
        for entry in self.entries:
            for index, pack in enumerate(entry.manifest.packs):
                for run in pack:
                    found.setdefault(run, []).append((entry, index))
        return found

    def of_run(self, run: str) -> list[tuple[Submission, int]]:
        """Return the submissions of a run, each with the element that executes it."""
        return self._of_runs.get(run, [])

    def of_command(self, record: Path) -> list[Submission]:
        """Return the submissions of a command after a sweep."""
        experiment = record.parent.parent.name
        return [
            entry
            for entry in self.entries
            if (entry.manifest.experiment, entry.manifest.record) == (experiment, record.name)
        ]

    def commands(self) -> Iterator[Manifest]:
        """Yield the manifests of commands."""
        yield from (entry.manifest for entry in self.entries if entry.manifest.command)


def roots_of(paths: Iterable[Path]) -> list[Path]:
    """Return the folders of all runs at or above some paths, where anything was submitted."""
    candidates = {
        place: None
        for path in map(Path.absolute, paths)
        for place in (path, path.parent, path.parent.parent)
    }
    return [place for place in candidates if _has_submissions(place)]


def _has_submissions(place: Path) -> bool:
    try:
        return (place / FOLDER).is_dir()
    except PermissionError as error:
        raise UserError(why_closed(place) or f"cannot read {place}: {error.strerror}") from None


def me() -> str:
    """Return the name of the user, as SLURM knows it: by number, whatever the environment says."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container without a list of users
        return str(os.getuid())


def new_submission(root: Path, number: int, experiment: str, **content: object) -> Submission:
    """Return a submission with a name of its own; nothing is written."""
    name = f"s2m-{experiment}-{secrets.token_hex(3)}"
    manifest = Manifest(
        name=name, number=number, user=me(), created=timestamp(),
        experiment=experiment, **content,  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    return Submission(root / FOLDER / name, manifest)
