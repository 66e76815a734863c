"""Which job was submitted for a run, and the lock under which runs are planned and submitted."""

import errno
import fcntl
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from s2m.errors import UserError
from s2m.run.clock import timestamp
from s2m.run.files import read_record, write_json
from s2m.run.folder import RunFolder

FOLDER = ".slurm"
"""Below the folder of all runs: scripts, pickles and logs of the jobs, and the code they run."""
LOCK_SECONDS = 300.0
_JOB = re.compile(r"[0-9]{1,12}(_[0-9]{1,12})?")


@dataclass(frozen=True)
class Submission:
    """The job in which a run was submitted last; the content of `submitted.json`."""

    job: str
    """SLURM's id: 12 or 12_3."""
    name: str
    """The job's name, which no other submission has."""
    folder: str
    """Where the job's script and logs are."""
    code: str
    """The copy of the code that it runs."""
    time: str = ""

    @property
    def array(self) -> str:
        """The id of the whole array."""
        return self.job.split("_")[0]

    def logs(self) -> list[Path]:
        """Return what SLURM wrote for the job: its output and its errors."""
        return [Path(self.folder) / f"{self.job}_0_log.{kind}" for kind in ("out", "err")]


def record(folder: RunFolder, submission: Submission) -> None:
    """Note the job of a run."""
    write_json(folder.submitted, asdict(submission) | {"time": timestamp()})


def submission_of(path: Path) -> Submission | None:
    """Return the submission in a file."""
    if not path.exists():
        return None
    submission = read_record(path, Submission)
    if not _JOB.fullmatch(submission.job):  # it becomes a word of SLURM's commands
        raise UserError(f"{path} is damaged: job is {submission.job[:40]!r}")
    return submission


@contextmanager
def launch_lock(root: Path) -> Iterator[None]:
    """Let one launch at a time plan and submit; others wait and then see what it has done."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = (root / ".launch.lock").open("w")
    except OSError as error:
        raise UserError(f"cannot write to the folder of runs {root}: {error.strerror}") from None
    with file:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _locked(file.fileno()):
            if time.monotonic() > deadline:
                raise UserError(f"another launch has held {root}/.launch.lock for 5 minutes")
            time.sleep(0.1)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # A file system without locks: the run folders' own rules still hold.
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    return True
