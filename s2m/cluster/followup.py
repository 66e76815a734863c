"""Commands that come after all runs of a sweep: its tables, its report, the distillation.

A named sweep lists them under `then`. Each runs once for a set of runs: its record, beside the
runs, is written when it has succeeded.
"""

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from s2m.cluster.queue import Job, Queue
from s2m.cluster.submission import Submission, submission_of
from s2m.config.search import FLAG
from s2m.console.errors import UserError
from s2m.console.text import excerpt
from s2m.run.files import read_json, write_json
from s2m.run.status import FAILED, FINISHED, PENDING, QUEUED, RUNNING, UNREADABLE

FOLDER = ".then"
"""Beside the runs of an experiment: one record per command."""


@dataclass(frozen=True)
class Step:
    """One command, with the files that tell what became of it."""

    command: list[str]
    """What the interpreter is given: a script of the project or -m and a module, and its words."""
    experiment: str
    record: Path

    @property
    def name(self) -> str:
        """How people know it, whoever wrote the record."""
        return excerpt(self.record.stem)

    @property
    def computes(self) -> bool:
        """Whether it is work like that of a run, which needs a GPU where runs do: a module."""
        return self.command[0] == "-m"

    @property
    def _submitted(self) -> Path:
        return self.record.with_suffix(".submitted.json")

    def submitted(self, submission: Submission) -> None:
        """Note the job of the command."""
        write_json(self._submitted, asdict(submission))

    def forget(self) -> None:
        """Make the command due again, as runs it comes after are executed again."""
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.record.unlink(missing_ok=True)
        self._submitted.unlink(missing_ok=True)

    def job(self, queue: Queue | None) -> Job | None:
        """Return the job of the command, if SLURM still has it."""
        submission = submission_of(self._submitted)
        return queue.find(submission.job, submission.name) if submission and queue else None

    def state(self, queue: Queue | None) -> str:
        """Tell where it stands, in the words for runs; failed if its job is gone and no record."""
        if self.record.exists():
            return FINISHED
        if not self._submitted.exists():
            return PENDING
        try:
            job = self.job(queue)
        except UserError:
            return UNREADABLE
        if job is None:
            return QUEUED if queue and queue.silent else FAILED
        return QUEUED if job.waits else RUNNING

    def covers(self, runs: Sequence[str]) -> bool:
        """Tell whether the command has succeeded after just these runs."""
        return self.record.exists() and read_json(self.record).get("runs") == list(runs)


def make_steps(
    lines: Sequence[str], root: Path, experiment: str, own: Sequence[Path] = ()
) -> list[Step]:
    """Return the commands of a sweep; {root} and {experiment} in them stand for these.

    The word {own} stands for the --config-dir of the launch, if it has one.
    """
    folder = root.resolve() / experiment / FOLDER
    steps = []
    for line in lines:
        words = shlex.split(line)
        try:
            command = []
            for word in words:
                if word == "{own}":
                    command += [f"{FLAG}={path}" for path in own]
                else:
                    command.append(word.format(root=root.resolve(), experiment=experiment))
        except (KeyError, IndexError, ValueError):
            raise UserError(f"then: {line}: braces may hold root, experiment or own") from None
        # A command that stands there twice is two steps, each with a record of its own.
        earlier = sum(step.command == command for step in steps)
        words_of_step = [*command, f"once more: {earlier}"] if earlier else command
        digest = hashlib.sha256(json.dumps(words_of_step).encode()).hexdigest()[:8]
        name = Path(words[0]).stem if words[0] != "-m" else words[1]
        steps.append(Step(command, experiment, folder / f"{name}-{digest}.json"))
    return steps


def find_steps(root: Path) -> list[Step]:
    """Return the commands that were submitted or have succeeded below a folder of runs."""
    found = {}
    for path in sorted(root.glob(f"*/{FOLDER}/*.json")):
        record = path.with_name(path.name.replace(".submitted.json", ".json"))
        found[record] = Step([record.stem], path.parent.parent.name, record)
    return list(found.values())
