"""Stop runs: python -m s2m.cancel FOLDER ... [--yes]. FOLDER is a run or holds runs.

They write a checkpoint and leave; the command that launched them goes on with them later. A SLURM
job is cancelled when all of its runs are to stop; otherwise its other runs go on. A run that a
launcher has not begun yet is passed over by it.
"""

import argparse
import os
import signal
from collections import defaultdict
from pathlib import Path

from s2m.cluster.queue import Queue, ask
from s2m.cluster.state import glance
from s2m.cluster.submission import FOLDER, submission_of
from s2m.console.errors import UserError, run_command
from s2m.console.text import one_line
from s2m.run.files import open_own
from s2m.run.folder import RunFolder, find_runs, runs_at
from s2m.run.lock import current_attempt, holds
from s2m.run.status import FAILED, FINISHED, PENDING, QUEUED, RUNNING, STOPPED, UNREADABLE


def main(words: list[str]) -> int:
    """Find what runs or waits, ask, and stop it."""
    options = _parse(words)
    queue = Queue.read()
    active, idle = _sort(runs_at(options.folders), queue)
    if not active and not idle:
        print("nothing runs or waits there")
        return 0
    for folder in active:
        print(one_line(str(folder.path)))
    for folder in idle:
        print(one_line(f"{folder.path} (not at work)"))
    if not options.yes and not _confirmed(len(active) + len(idle)):
        print("nothing was stopped")
        return 1
    jobs = whole_jobs(active, queue)
    if jobs:
        ask("scancel", *jobs)
    for folder in active:
        if glance(folder, 0, queue).job not in jobs:
            _stop(folder)
    for folder in idle:
        _mark(folder)
    if active:
        print(f"asked {len(active)} runs to stop")
    if idle:
        print(f"{len(idle)} that were not at work are passed over until they are launched again")
    return 0


def _confirmed(runs: int) -> bool:
    """Ask whether to stop some runs; where nobody can answer, that is no."""
    try:
        return input(f"stop these {runs} runs? [y/N] ").strip().lower() == "y"
    except EOFError:
        print()
        return False


def whole_jobs(active: list[RunFolder], queue: Queue | None) -> list[str]:
    """Return the SLURM jobs all of whose runs that have not ended are among the given ones."""
    chosen = {folder.path.resolve() for folder in active}
    members: dict[str, set[Path]] = defaultdict(set)
    roots = {root for folder in active if (root := _root(folder))}
    for root in roots:
        for folder in find_runs(root):
            try:
                submission = submission_of(folder.submitted)
            except UserError:
                continue
            # A folder may claim any job: only one that bears the claimed name is its own.
            if not queue or not submission or not queue.find(submission.job, submission.name):
                continue
            if glance(folder, 0, queue).status not in (FINISHED, FAILED):
                members[submission.job].add(folder.path.resolve())
    return sorted(job for job, paths in members.items() if paths <= chosen)


def _root(folder: RunFolder) -> Path | None:
    """Return the folder of all runs, which holds what jobs need."""
    root = folder.path.resolve().parent.parent
    return root if (root / FOLDER).is_dir() else None


def _sort(folders: list[RunFolder], queue: Queue | None) -> tuple[list[RunFolder], list[RunFolder]]:
    """Return the runs that somebody is at, and those that a launcher may be about to begin."""
    active, idle = [], []
    for folder in folders:
        state = glance(folder, 0, queue)
        if state.status == UNREADABLE:
            print(one_line(f"left alone: {folder.path}: {state.failure}"))
        elif state.status in (QUEUED, RUNNING):
            active.append(folder)
        elif state.status in (PENDING, STOPPED):
            # What was submitted and is not in the queue waits for nobody.
            if not folder.submitted.exists() and not folder.stop.exists():
                idle.append(folder)
    return active, idle


def _stop(folder: RunFolder) -> None:
    """Signal a process of this machine; elsewhere the stop file is read at the next iteration."""
    attempt = current_attempt(folder)
    if attempt is not None and attempt.job is None and holds(folder, attempt.pid):
        os.kill(attempt.pid, signal.SIGTERM)
    else:
        _mark(folder)


def _mark(folder: RunFolder) -> None:
    os.close(open_own(folder.stop, os.O_WRONLY))


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.cancel", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
