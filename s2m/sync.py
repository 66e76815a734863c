"""Send runs to Weights & Biases: python -m s2m.sync [FOLDER ...] [--project ENTITY/NAME] [--watch].

FOLDER is a run or holds runs (default: runs). Only what is missing on W&B is uploaded, so the
command can be repeated. --watch repeats it until Ctrl-C: for a login node, if compute nodes have no
internet.
"""

import argparse
import signal
import time
from itertools import takewhile

from s2m.config.overrides import with_folder
from s2m.console.errors import UserError, run_command
from s2m.console.options import Options
from s2m.console.text import one_line
from s2m.run.folder import RunFolder, runs_at
from s2m.tracking.client import ClientError, scratch_folder, split
from s2m.tracking.contents import full_name
from s2m.tracking.mode import DISABLED, tracking_of
from s2m.tracking.send import CURRENT, Sender


def main(words: list[str]) -> int:
    """Send all runs of the folders; 1 if some could not be sent."""
    options = _parse(words)
    if options.project:
        split(options.project)
    if options.every <= 0:
        raise UserError(f"--every {options.every:g}: must be a number of seconds above 0")
    with scratch_folder() as scratch:
        sender = Sender(scratch, options.project)
        # Whatever would stop every run alike, as a missing key, is said once and at the start.
        for folder in runs_at(options.folders):
            try:
                cfg = tracking_of(folder)
            except Exception:  # of a folder that cannot be read: told when its turn comes
                continue
            if options.all or cfg.mode != DISABLED:
                sender.project(cfg)
        if options.watch:
            _watch(sender, options)
        return _once(sender, runs_at(options.folders), options.all)


def _wanted(folder: RunFolder, everything: bool) -> bool:
    """Tell whether a run may be sent."""
    return tracking_of(folder).mode != DISABLED or everything


def _once(sender: Sender, folders: list[RunFolder], everything: bool) -> int:
    sent, failed, left = 0, 0, 0
    for i, folder in enumerate(folders, start=1):
        try:
            if not _wanted(folder, everything):
                left += 1
                continue
            done = sender.send(folder)
        except Exception as error:  # whatever is wrong with one folder, the others are sent
            failed, done = failed + 1, _failure(error)
        sent += done.startswith("sent")
        print(one_line(f"[{i}/{len(folders)}] {full_name(folder)}: {done}"), flush=True)
    print(f"{sent} runs sent, {len(folders) - sent - failed - left} left as they are", end="")
    print(f", {failed} failed" if failed else "", end="")
    print(f", {left} have tracking=disabled (--all sends them, too)" if left else "")
    return 1 if failed else 0


def _failure(error: Exception) -> str:
    return f"failed: {error if isinstance(error, UserError) else repr(error)}"


def _watch(sender: Sender, options: argparse.Namespace) -> None:
    """Send what is new, again and again; a network or disk that comes and goes does not end it."""
    said: dict[str, str] = {}
    asked: list[int] = []
    """Signals to leave; no Event, whose own lock a handler might wait for in vain."""

    def interrupt(number: int, _: object) -> None:
        # The client swallows exceptions at some moments: the first Ctrl-C lets it finish the run.
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    def say(name: str, done: str) -> None:
        if done not in (CURRENT, said.get(name)):
            print(one_line(f"{time.strftime('%H:%M:%S')} {name}: {done}"), flush=True)
        said[name] = done

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        while not asked:
            try:
                found = runs_at(options.folders)
            except (UserError, OSError) as error:  # as a network disk that is away for a moment
                found = []
                say(" ".join(options.folders), _failure(error))
            for folder in takewhile(lambda _: not asked, found):
                try:
                    done = sender.follow(folder) if _wanted(folder, options.all) else CURRENT
                except ClientError as error:
                    sender.forget()
                    done = _failure(error)
                except Exception as error:  # whatever is wrong with one folder, the others are sent
                    done = _failure(error)
                say(full_name(folder), done)
            until = time.monotonic() + options.every
            while not asked and time.monotonic() < until:
                time.sleep(0.1)
        raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)
        sender.leave()


def _parse(words: list[str]) -> argparse.Namespace:
    parser = Options(prog="python -m s2m.sync", description=__doc__)
    add = parser.add_argument
    add("folders", nargs="*", default=["runs"], metavar="FOLDER", help="run, or folder of runs")
    add("--project", metavar="ENTITY/NAME", help="send there (default: as each run's config says)")
    add("--all", action="store_true", help="also runs with tracking=disabled")
    add("--watch", action="store_true", help="repeat until Ctrl-C")
    add("--every", type=float, default=30.0, metavar="SECONDS", help="between two checks (30)")
    return parser.parse_args(with_folder(words))


if __name__ == "__main__":
    run_command(main)
