"""A study without a cluster: commands that answer like SLURM's, and runs that end without training.

python -m benchmarks.simulated ROOT SAMPLES finishes runs that were submitted below a folder. The
first of each variant is really trained and evaluated on sim=dummy, once for all studies, and kept
in SAMPLES. Every other one of its variant gets what that one measured, through the same lock,
journal, events and results as in training, with level changes of its own; only the table of its
metrics is stored at once, and its checkpoint is a hard link. Nothing waits for the disk. A few runs
stay unfinished: one in 50 has failed, one in 50 was stopped half way, one in 100 was never begun.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow

from s2m.run.events import Events
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import KEPT, Journal
from s2m.run.lock import RunLock
from s2m.run.metrics import ITERATION, MetricsRow, write_table

COMMANDS = {
    "sinfo": 'echo "gpu*"',
    "scontrol": 'echo "MaxArraySize = 1001"',
    "srun": "exit 1",
    "scancel": 'for job; do sed -i "/^$job /d" "$queue"; done',
    "sacct": "exit 0",
    "sbatch": """
eval "script=\\${$#}"
name=$(sed -n 's/^#SBATCH --job-name=//p' "$script")
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
number=$(cat "$queue.next" 2>/dev/null || echo 1)
echo $((number + 1)) > "$queue.next"
echo "$number $name $last" >> "$queue"
echo "Submitted batch job $number"
""",
    "squeue": """
awk 'NF == 2 { print $1 "|" 100000 * $1 "|" $2 "|PENDING|Priority" }
  NF == 3 { for (i = 0; i <= $3; i++)
    print $1 "_" i "|" 100000 * $1 + i "|" $2 "|PENDING|Priority" }' "$queue"
""",
}
"""What SLURM's commands do; $queue has a line per job or array: id, name, last element."""


def pretend_slurm(folder: Path) -> dict[str, str]:
    """Write the commands into a folder; return the environment in which they are SLURM."""
    folder.mkdir(parents=True)
    (folder / "queue").touch()
    for name, text in COMMANDS.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nqueue="{folder}/queue"\n{text}\n')
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def empty_queue(folder: Path) -> None:
    """Let all jobs have ended."""
    (folder / "queue").write_text("")


@dataclass(frozen=True, eq=False)
class Sample:
    """What a run that was really trained has left."""

    table: pyarrow.Table
    trained: dict
    judged: dict
    files: dict[str, bytes]
    checkpoint: Path

    @classmethod
    def of(cls, folder: RunFolder) -> "Sample":
        trained, judged = folder.result("train"), folder.result("evaluate")
        assert trained is not None and judged is not None
        files = {name: (folder.path / judged[name]).read_bytes() for name in FILES}
        newest = max(folder.checkpoints.glob("*.pt"))
        return cls(Journal(folder).table(), trained, judged, files, newest)

    @cache  # noqa: B019 (samples live as long as the program)
    def newest(self, upto: int) -> list[MetricsRow]:
        """Return the rows that stand in the journal after an iteration."""
        return [
            {name: value for name, value in row.items() if value is not None}
            for row in self.table.slice(upto - KEPT, KEPT).to_pylist()
        ]


FILES = ("episodes", "selection")


def repeat(folder: RunFolder, sample: Sample, number: int) -> None:
    """Let a run end as the sample did, with its own level changes; or not quite."""
    if number % 100 == 7:
        return
    total = sample.trained["iterations"]
    chance = np.random.default_rng(number)
    at = np.sort(chance.choice(np.arange(2, total), chance.integers(1, 5), replace=False))
    levels = {level: int(i) for level, i in enumerate(at, start=2)}
    half = number % 50 in (1, 2)
    last = total // 2 if half else total
    with RunLock.acquire(folder) as lock:
        events, journal = Events(folder, lock.attempt.number), Journal(folder)
        for level, i in levels.items():
            if i <= last:
                events.append("level", iteration=i, level=level)
        _store(folder, sample, at, last)
        level = 1 + int(np.searchsorted(at, last, side="right"))
        for row in sample.newest(last):
            rest = {name: value for name, value in row.items() if name != ITERATION}
            journal.append(int(row[ITERATION]), rest | {"curriculum/level": level})
        journal.close()
        os.link(sample.checkpoint, folder.checkpoints / sample.checkpoint.name)
        if half:
            _leave(folder, events, number)
            return
        named = {str(level): i for level, i in levels.items()}
        folder.write_result("train", sample.trained | {"levels": named, "level": 1 + len(levels)})
        for name, data in sample.files.items():
            (folder.path / sample.judged[name]).write_bytes(data)
        folder.write_result("evaluate", sample.judged)


def _store(folder: RunFolder, sample: Sample, changes: np.ndarray, upto: int) -> None:
    """Write the metrics of the sample up to an iteration, with the levels of this run."""
    table = sample.table.slice(0, upto)
    levels = 1.0 + np.searchsorted(changes, table[ITERATION].to_numpy(), side="right")
    place = table.column_names.index("curriculum/level")
    column = pyarrow.array(levels.astype(float))
    write_table(folder.metrics, table.set_column(place, "curriculum/level", column))


def _leave(folder: RunFolder, events: Events, number: int) -> None:
    """Write the traces of an end before time."""
    folder.log.write_text("iteration 30\n" * 30)
    if number % 50 == 1:
        events.append("failed", reason="torch.OutOfMemoryError: CUDA out of memory")
    else:
        events.append("stopped", iteration=30, reason="SIGUSR2")


def finish(root: Path, kept: Path) -> None:
    """Finish the runs below a folder."""
    samples: dict[str, Sample] = {}
    with mock.patch("os.fsync"):
        for number, folder in enumerate(find_runs(root)):
            variant = folder.identity.variant
            if variant not in samples:
                _train(folder, kept / folder.path.name)
                samples[variant] = Sample.of(folder)
            else:
                repeat(folder, samples[variant], number)


def _train(folder: RunFolder, kept: Path) -> None:
    """Train and evaluate a run, or copy what the same run has left before."""
    from s2m.stages.execute import execute

    if not kept.exists():
        execute(folder)
        shutil.copytree(folder.path, kept)
    shutil.copytree(kept, folder.path, dirs_exist_ok=True)


if __name__ == "__main__":
    finish(*map(Path, sys.argv[1:]))
