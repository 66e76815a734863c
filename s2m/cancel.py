"""Stop runs: python -m s2m.cancel FOLDER ... [--yes]. FOLDER is a run or holds runs.

They write a checkpoint and leave; the command that launched them goes on with them later. A SLURM
job is cancelled when all of its runs are to stop; otherwise its other runs go on. A run that a
launcher has not begun yet is passed over by it.
"""

import argparse

from s2m.cluster.queue import Queue
from s2m.cluster.withdrawal import Withdrawal
from s2m.console.errors import run_command
from s2m.console.text import one_line
from s2m.run.folder import runs_at


def main(words: list[str]) -> int:
    """Find what runs or waits, ask, and stop it."""
    options = _parse(words)
    found = Withdrawal.of(runs_at(options.folders), Queue.read())
    lines = [f"left alone: {path}: {reason}" for path, reason in found.unreadable.items()]
    lines += [str(folder.path) for folder in found.active]
    lines += [f"{folder.path} (not at work)" for folder in found.idle]
    for line in lines:
        print(one_line(line))
    if not found:
        print("nothing runs or waits there")
        return 0
    if not options.yes and not _confirmed(len(found)):
        print("nothing was stopped")
        return 1
    found.carry_out()
    if found.active:
        print(f"asked {len(found.active)} runs to stop")
    if found.idle:
        print(
            f"{len(found.idle)} that were not at work are passed over until they are launched again"
        )
    return 0


def _confirmed(runs: int) -> bool:
    """Ask whether to stop some runs; where nobody can answer, that is no."""
    try:
        return input(f"stop these {runs} runs? [y/N] ").strip().lower() == "y"
    except EOFError:
        print()
        return False


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.cancel", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
