"""The output of a run: python -m s2m.logs RUN [--lines N] [--follow].

For a run on SLURM, the end of its job's error output follows, where SLURM says why it ended a job.
"""

from s2m.console.errors import UserError, run_command
from s2m.console.options import Options
from s2m.monitor.output import print_output
from s2m.run.folder import RunFolder


def main(words: list[str]) -> int:
    """Print the end of the log, and what is added to it."""
    parser = Options(prog="python -m s2m.logs", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="run folder")
    parser.add_argument("--lines", type=int, default=40, metavar="N", help="lines (40)")
    parser.add_argument("--follow", action="store_true", help="keep printing new lines")
    options = parser.parse_args(words)
    if options.lines < 1:
        raise UserError(f"--lines {options.lines}: must be an integer from 1")
    print_output(RunFolder.open(options.run), options.lines, options.follow)
    return 0


if __name__ == "__main__":
    run_command(main)
