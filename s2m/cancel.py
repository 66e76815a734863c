"""Stop runs: python -m s2m.cancel FOLDER ... [--yes]. FOLDER is a run or holds runs.

Each run writes a checkpoint and exits; the command that launched it resumes it. A SLURM job is
cancelled if all of its runs are to stop; otherwise its other runs continue. A run that has not
started yet is skipped by its launcher. For an experiment, the commands
after its runs are cancelled, too.
"""

from pathlib import Path

from s2m.cluster.queue import Queue
from s2m.cluster.withdrawal import Withdrawal
from s2m.config.overrides import with_folder
from s2m.console.errors import run_command
from s2m.console.options import Options
from s2m.console.text import one_line
from s2m.run.folder import runs_at


def main(words: list[str]) -> int:
    """Find what runs or waits, ask, and stop it."""
    parser = Options(prog="python -m s2m.cancel", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(with_folder(words))
    places = [Path(folder) for folder in options.folders]
    found = Withdrawal.of(runs_at(places), Queue.read(*places), places)
    lines = [f"left alone: {path}: {reason}" for path, reason in found.unreadable.items()]
    lines += [str(folder.path) for folder in found.active]
    lines += [f"{folder.path} (idle)" for folder in found.idle]
    lines += [f"then {step.name}" for step in found.commands]
    for line in lines:
        print(one_line(line))
    if not found:
        print("no run there is running or queued")
        return 0
    if not options.yes and not _confirmed(len(found)):
        print("nothing was stopped")
        return 1
    found.carry_out()
    if found.active:
        print(f"asked {len(found.active)} runs to stop")
    if found.commands:
        print(f"cancelled {len(found.commands)} commands after the runs")
    if found.idle:
        print(f"{len(found.idle)} idle runs are skipped until they are launched again")
    return 0


def _confirmed(number: int) -> bool:
    """Ask whether to stop all that; where nobody can answer, that is no."""
    try:
        return input(f"stop these {number}? [y/N] ").strip().lower() == "y"
    except EOFError:
        print()
        return False


if __name__ == "__main__":
    run_command(main)
