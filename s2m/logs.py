"""What a run has printed: python -m s2m.logs RUN [--lines N] [--follow].

For a run on SLURM the last words of its job follow: that is where SLURM says why it ended one.
"""

import argparse
import math
import sys
import time
from pathlib import Path

from s2m.cluster.submission import Submission, submission_of
from s2m.cluster.verdict import tail
from s2m.console.errors import UserError, run_command
from s2m.console.text import harmless
from s2m.run.folder import RunFolder

FOLLOW_SECONDS = 0.5


def main(words: list[str]) -> int:
    """Print the end of the log, and what is added to it."""
    options = _parse(words)
    if options.lines < 1:
        raise UserError(f"--lines {options.lines}: allowed are whole numbers from 1")
    folder = RunFolder.open(options.run)
    submission = submission_of(folder.submitted)
    errors = tail(submission.logs()[1], options.lines, math.inf) if submission else ""
    if not folder.log.exists() and not errors:
        raise UserError(f"{folder.path} {_why_silent(folder, submission)}")
    print(harmless(tail(folder.log, options.lines, math.inf)))
    if errors:
        print(f"--- SLURM job {submission.job if submission else ''}\n{harmless(errors)}")
    if options.follow:
        _follow(folder.log)
    return 0


def _why_silent(folder: RunFolder, submission: Submission | None) -> str:
    if submission:
        return f"has printed nothing yet; it was submitted as job {submission.job}"
    if folder.attempt.exists():
        return "has no run.log: it ran in the foreground, or its log was not archived"
    return "has printed nothing yet"


def _follow(path: Path) -> None:
    """Print what is added to a file, for ever."""
    while not path.exists():
        time.sleep(FOLLOW_SECONDS)
    with path.open("rb") as file:
        file.seek(0, 2)
        while True:
            sys.stdout.write(harmless(file.read().decode("utf-8", "replace")))
            sys.stdout.flush()
            time.sleep(FOLLOW_SECONDS)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.logs", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="run folder")
    parser.add_argument("--lines", type=int, default=40, metavar="N", help="lines (40)")
    parser.add_argument("--follow", action="store_true", help="go on printing what is added")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
