"""Which job was submitted for a run, and the lock under which runs are planned and submitted."""

import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from s2m.console.errors import UserError
from s2m.console.text import one_line
from s2m.run.clock import timestamp
from s2m.run.files import read_record, write_json
from s2m.run.flock import flock
from s2m.run.folder import RunFolder

FOLDER = ".slurm"
"""Below the folder of all runs: scripts, pickles and logs of the jobs, and the code they run."""
LOCK_SECONDS = 300.0
QUIET_SECONDS = 1.0
"""A wait that needs no word."""
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
def launch_lock(root: Path, say: Callable[[str], object] = print) -> Iterator[None]:
    """Let one launch at a time plan and submit; others wait and then see what it has done."""
    path = root / ".launch.lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", errors="replace")
    except OSError as error:
        raise UserError(f"cannot write to the folder of runs {root}: {error.strerror}") from None
    with file:
        began, told = time.monotonic(), False
        # A file system without locks lets everybody pass: the run folders' own rules still hold.
        while flock(file.fileno()) is False:
            waited = time.monotonic() - began
            if waited > LOCK_SECONDS:
                raise UserError(f"another launch{_holder(file)} has held {path} for 5 minutes")
            if waited > QUIET_SECONDS and not told:
                say(f"waiting for another launch{_holder(file)}, which holds {path}")
                told = True
            time.sleep(0.1)
        _sign(file)
        yield


def _sign(file: TextIO) -> None:
    """Tell those who wait for the lock who has it."""
    with suppress(OSError):  # a full disk, which forbids nothing by itself
        file.truncate(0)
        file.write(f"host {socket.gethostname()}, pid {os.getpid()}")
        file.flush()


def _holder(file: TextIO) -> str:
    file.seek(0)
    words = one_line(file.read(100))
    return f" ({words})" if words else ""
