"""Commands that come after all runs of a sweep: its tables, its report, the distillation.

A named sweep lists them under `then`. Each runs once for what its runs have become: its record,
beside the runs, is written when it has succeeded, and keeps the checksums of the results it read.
"""

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from s2m.cluster.manifest import Ledger, roots_of
from s2m.cluster.queue import Queue
from s2m.cluster.state import glance
from s2m.config.search import FLAG
from s2m.console.errors import UserError
from s2m.console.text import excerpt
from s2m.run.clock import timestamp
from s2m.run.files import read_json, to_json, write_json
from s2m.run.folder import STAGES, RunFolder, unfinished
from s2m.run.lock import current_attempt
from s2m.run.status import FAILED, FINISHED, PENDING, QUEUED, RUNNING, UNREADABLE

FOLDER = ".then"
"""Beside the runs of an experiment: one record per command."""
ENDED = (FINISHED, FAILED, UNREADABLE)
"""Where runs stand that no command needs to wait for."""


@dataclass(frozen=True)
class Step:
    """One command, with the file that tells of its success."""

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

    def forget(self) -> None:
        """Make the command due again, as runs it comes after have changed."""
        self.record.unlink(missing_ok=True)

    def state(self, queue: Queue | None) -> str:
        """Tell where it stands, in the words for runs; failed if its job is gone and no record."""
        place = queue.of_command(self.record) if queue else None
        if place and place.job:
            return QUEUED if place.job.waits else RUNNING
        if self.record.exists():
            return FINISHED
        if place and place.unknown:
            return QUEUED
        return FAILED if place else PENDING

    def has_read(self, results: Mapping[str, str]) -> bool:
        """Tell whether the command has succeeded on just these results."""
        with suppress(UserError):
            return self.record.exists() and read_json(self.record).get("read") == dict(results)
        return False

    def succeeded(self, results: Mapping[str, str]) -> None:
        """Write the record."""
        self.record.parent.mkdir(parents=True, exist_ok=True)
        content = {"command": self.command, "read": dict(results), "done": timestamp()}
        write_json(self.record, content)


def results_of(folders: Iterable[RunFolder]) -> dict[str, str]:
    """Return a checksum of what each run has become, by its name."""
    return {folder.path.name: _digest(folder) for folder in folders}


def _digest(folder: RunFolder) -> str:
    found = hashlib.sha256()
    try:
        for stage in STAGES:
            found.update(to_json(folder.result(stage)).encode())
        if unfinished(folder):  # what failed may have failed once more, and later
            attempt = current_attempt(folder)
            found.update(str(attempt.number if attempt else 0).encode())
    except (UserError, OSError):
        return UNREADABLE
    return found.hexdigest()


def not_ended(folders: Iterable[RunFolder], queue: Queue | None) -> dict[str, str]:
    """Return the runs for which a command has to wait, with where they stand."""
    found = {folder.path.name: glance(folder, 0, queue).status for folder in folders}
    return {name: status for name, status in found.items() if status not in ENDED}


def make_steps(
    lines: Sequence[str], root: Path, experiment: str, own: Sequence[Path] = ()
) -> list[Step]:
    """Return the commands of a sweep; {root} and {experiment} in them stand for these.

    The word {own} stands for the --config-dir of the launch, if it has one.
    """
    folder = root.absolute() / experiment / FOLDER
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
    found = {path: [path.stem] for path in sorted(root.glob(f"*/{FOLDER}/*.json"))}
    for top in roots_of([root]):
        for manifest in Ledger.read(top).commands():
            record = top / manifest.experiment / FOLDER / manifest.record
            if record.is_relative_to(root.absolute()):
                found[root / record.relative_to(root.absolute())] = manifest.command
    return [Step(command, path.parent.parent.name, path) for path, command in found.items()]
