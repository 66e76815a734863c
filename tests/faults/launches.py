"""The local launcher and its processes, which run side by side, and their deaths."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from s2m.run.folder import find_runs
from s2m.run.lock import current_attempt
from tests.faults.runs import TEACHER
from tests.processes import mentioning
from tests.waiting import wait_for
from tests.words import latest


def command(root: Path, *words: str) -> list[str]:
    """Return the words of a launch of tiny runs, two at a time."""
    given = latest(*TEACHER, f"root={root}", "cluster.workers=2", *words)
    return [sys.executable, "-m", "s2m.launch", "-m", *given]


def launch(root: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the launcher as a user would."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(root, *words), stdout=quiet, stderr=quiet)


def workers(root: Path) -> list[int]:
    """Return the processes that work on runs below a folder."""
    attempts = [current_attempt(run) for run in find_runs(root)]
    return [a.pid for a in attempts if a is not None and a.is_alive()]


def attempts(root: Path) -> int:
    """Return how many attempts have begun below a folder."""
    found = [current_attempt(run) for run in find_runs(root)]
    return sum(attempt.number for attempt in found if attempt is not None)


def kill_launcher(root: Path, chance: random.Random, *words: str) -> bool:
    """Kill a launcher some time after its runs have begun; False if all were done before.

    Its runs are told, write their checkpoints and leave: wait for that.
    """
    process, before = launch(root, *words), attempts(root)
    wait_for(lambda: attempts(root) != before or process.poll() is not None, pause=0.05)
    time.sleep(chance.uniform(0.0, 1.0))
    process.kill()
    killed = process.wait() == -signal.SIGKILL
    # Also those that still load and have signed for nothing.
    wait_for(lambda: not mentioning(f"{root}/"), what="the runs to leave", pause=0.05)
    return killed


def kill_siblings(root: Path, chance: random.Random, kills: int, *words: str) -> int:
    """Kill processes of a launcher one after the other; return how many there were to kill.

    Those that share the launch go on.
    """
    process, done = launch(root, *words), 0
    while process.poll() is None:
        time.sleep(chance.uniform(0.1, 0.6))
        found = workers(root)
        if found and done < kills:
            os.kill(chance.choice(found), signal.SIGKILL)
            done += 1
    return done
