"""What a SLURM job does: the runs of its pack side by side, or a command after a sweep.

A job's script calls python -m s2m.cluster.pack FOLDER, the folder of its manifest. The exit code
says how it went, and the script acts on it: REQUEUE asks to be started again.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from s2m.cluster.followup import FOLDER as RECORDS
from s2m.cluster.followup import Step, not_ended, results_of
from s2m.cluster.local import Pool
from s2m.cluster.manifest import FILE, Submission
from s2m.cluster.queue import Queue
from s2m.cluster.script import REQUEUE
from s2m.cluster.state import inspect
from s2m.console.errors import UserError, in_words, run_command
from s2m.console.text import count
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.kind import total_iterations
from s2m.run.lock import Attempt, current_attempt, slurm_restarts
from s2m.run.status import FAILED, STOPPED
from s2m.run.stopping import SIGNALS, STOP_FILE, block_stop_signals

ASKED = (REQUEUE, 128 + signal.SIGINT, *(-number for number in SIGNALS))
"""Exit codes of a command that was asked to leave, and left in good order or by the signal."""
HEED_SIGNALS = ("s2m.distill",)
"""Modules that heed the signals once they work, but are killed by them while they still load."""


@dataclass
class Pack:
    """Runs that share a job: a failed one does not disturb the others, but the job has failed."""

    runs: list[str]
    threads: int
    max_requeues: int

    def __call__(self) -> None:
        """Execute the runs; leave with REQUEUE if SLURM wants the node back before they end."""
        due, broken = self._sort()
        console = Console(width=140, markup=False)
        pool = Pool(due, workers=len(self.runs), console=console, threads=self.threads)
        pool.run()
        broken += [name for name, outcome in pool.ended.items() if outcome == FAILED]
        if pool.interrupted and STOPPED in pool.ended.values():
            if slurm_restarts() >= self.max_requeues:
                raise UserError(
                    f"was requeued {count(slurm_restarts(), 'time')} (cluster.max_requeues)"
                )
            sys.exit(REQUEUE)
        if broken:
            raise UserError(f"failed: {', '.join(broken)}")

    def _sort(self) -> tuple[list[tuple[RunFolder, int]], list[str]]:
        """Return the runs to execute, each with its iterations, and the names of the others."""
        due, broken = [], []
        for path in self.runs:
            folder = RunFolder(path)
            try:
                # Started again, it must not repeat what has failed or was cancelled in it: only the
                # user decides so.
                if slurm_restarts() and _has_failed_here(folder):
                    broken.append(folder.path.name)
                elif not (slurm_restarts() and _was_cancelled_here(folder)):
                    due.append((folder, total_iterations(folder.config())))
            except Exception as error:  # whatever is wrong with its folder, the others are executed
                print(f"{folder.path.name}: {in_words(error)}", flush=True)
                broken.append(folder.path.name)
        return due, broken


def _has_failed_here(folder: RunFolder) -> bool:
    """Tell whether a run failed in this very job; an earlier failure is what a retry is for."""
    return _attempt_here(folder) is not None and inspect(folder, 0).status == FAILED


def _was_cancelled_here(folder: RunFolder) -> bool:
    attempt = _attempt_here(folder)
    return attempt is not None and any(
        event["kind"] == "stopped" and event.get("reason") == STOP_FILE
        for event in Events(folder).read()
        if event.get("attempt") == attempt.number
    )


def _attempt_here(folder: RunFolder) -> Attempt | None:
    """Return the newest attempt if it was made in this very job."""
    attempt = current_attempt(folder)
    return attempt if attempt and attempt.job == os.environ.get("SLURM_JOB_ID") else None


@dataclass
class FollowUp:
    """A command after a sweep; its record is written when it has succeeded, and only then."""

    step: Step
    runs: Sequence[RunFolder]
    """The runs that it reads."""
    folder: str
    """The project whose scripts it names."""
    max_requeues: int = 0

    def __call__(self) -> None:
        """Run the command as a job; leave with REQUEUE if SLURM wants the node back before."""
        if self.run():
            return
        if slurm_restarts() >= self.max_requeues:
            raise UserError(
                f"was requeued {count(slurm_restarts(), 'time')} (cluster.max_requeues)"
            )
        sys.exit(REQUEUE)

    def require_ended(self, queue: Queue) -> None:
        """Refuse to read runs that are not what they will be."""
        if waiting := not_ended(self.runs, queue):
            named = ", ".join(f"{name} is {status}" for name, status in [*waiting.items()][:3])
            raise UserError(
                f"{len(waiting)} of {len(self.runs)} runs have not ended ({named}): launch the "
                "sweep again, which resumes them and then runs this command"
            )

    def run(self) -> bool:
        """Run the command with this interpreter; False if it was asked to leave before its end.

        A command that can resume, such as a distillation, does so; others restart.
        """
        command, results = self.step.command, results_of(self.runs)
        print("+", *command, flush=True)
        # Whatever never unblocks the signals, as the tables, could not be interrupted.
        blocks = command[0] == "-m" and command[1] in HEED_SIGNALS
        process = subprocess.Popen(
            [sys.executable, *command], cwd=self.folder,
            preexec_fn=block_stop_signals if blocks else None,
        )  # fmt: skip
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        for number in SIGNALS:
            signal.signal(number, lambda number, _: process.send_signal(number))
        try:
            code = process.wait()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if code in ASKED:
            return False
        if code != 0:
            raise UserError(f"'{' '.join(command)}' failed with exit code {code}")
        self.step.succeeded(results)
        return True


def main(words: list[str]) -> int:
    """Do the work of an element of a job, as its manifest says."""
    folder = Path(words[0])
    index = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))
    array = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ.get("SLURM_JOB_ID", "")
    if not (folder / FILE).exists():
        print(f"{folder} holds no manifest: the launch has withdrawn this job")
        return 0
    submission = Submission.open(folder)
    manifest, root = submission.manifest, folder.parent.parent
    if manifest.job not in ("", array):
        print(f"job {manifest.job} does this work")
        return 0
    submission.exit_file(index).unlink(missing_ok=True)
    if manifest.command:
        record = root / manifest.experiment / RECORDS / manifest.record
        step = Step(manifest.command, manifest.experiment, record)
        runs = [RunFolder(root / run) for run in manifest.reads]
        job = FollowUp(step, runs, manifest.code, manifest.max_requeues)
        # All jobs that it waits for have ended, whatever squeue still says of their last moments.
        job.require_ended(Queue.gone(root))
        job()
    else:
        runs = [str(root / run) for run in manifest.packs[index]]
        Pack(runs, manifest.threads, manifest.max_requeues)()
    return 0


if __name__ == "__main__":
    run_command(main)
