"""Faults of a SLURM cluster, done to real daemons: preemption in waves, commands that fail."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from s2m.run.events import Events
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.run.lock import current_attempt
from tests.cluster.jobs import job_of, preempt
from tests.faults.runs import TEACHER
from tests.waiting import wait_for

SLURM = [*TEACHER, "cluster=slurm", "cluster.cpus=1", "cluster.memory=1"]
IDLE = ["budget.steps=4", "budget.checkpoint_every=1000", "curriculum.stop=1"]
"""Four control steps an iteration, and no planned checkpoint: what goes on was told to stop."""


def preemptions(run: RunFolder) -> int:
    """Return how often a run was told to leave."""
    return sum(event["kind"] == "stopped" for event in Events(run).read())


def works(run: RunFolder) -> bool:
    """Tell whether an attempt at a run is under way."""
    attempt = current_attempt(run)
    return attempt is not None and bool(attempt.is_alive())


def has_gone_on(run: RunFolder) -> bool:
    """Tell whether a run has trained a few iterations since it was told to leave."""
    stops = [event["iteration"] for event in Events(run).read() if event["kind"] == "stopped"]
    newest = Journal(run).last()
    return newest is not None and newest[0] >= max(stops, default=0) + 2


def finished(run: RunFolder) -> bool:
    """Tell whether a run has been evaluated."""
    return run.result("evaluate") is not None


def preemption_storm(
    cluster: Any, root: Path, times: int, say: Callable[[str], object] = lambda _: None
) -> list[int]:
    """Preempt all runs again and again, until each was told to leave so often; let them finish.

    Returns how often each run was preempted.
    """
    runs = list(find_runs(root))
    wave = 0
    while any(preemptions(run) < times and not finished(run) for run in runs):
        due = [run for run in runs if not finished(run)]
        wait_for(
            lambda due=due: all(has_gone_on(run) or finished(run) for run in due), 600, "the runs"
        )
        before = {run.path: preemptions(run) for run in due}
        preempt(cluster)
        wait_for(
            lambda due=due, before=before: all(
                preemptions(run) > before[run.path] or finished(run) for run in due
            ),
            300,
            "the runs to leave",
        )
        wave += 1
        say(f"wave {wave}: preempted {sorted(preemptions(run) for run in runs)}")

    def tell() -> str:
        jobs = cluster.run("sacct", "-X", "-D", "--format=jobid%20,state,exitcode,end")
        events = [f"{run.path.name}: {list(Events(run).read())[-3:]}" for run in runs]
        return "\n".join([jobs, *events])

    wait_for(lambda: all(finished(run) for run in runs), 900, "the end of all runs", tell=tell)
    return [preemptions(run) for run in runs]


@contextmanager
def failing(program: str, folder: Path, times: int, message: str) -> Iterator[None]:
    """Let a command of SLURM's fail so many times with a message, and then work as ever."""
    real = shutil.which(program)
    folder.mkdir(exist_ok=True)
    for i in range(times):
        (folder / f"fault-{i}").touch()
    script = folder / program
    script.write_text(
        "#!/bin/sh\n"
        f'for fault in "{folder}"/fault-*; do\n'
        '    [ -e "$fault" ] && rm "$fault" || continue\n'
        f"    echo '{program}: error: {message}' >&2\n"
        "    exit 1\n"
        "done\n"
        f'exec "{real}" "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
        yield


def node_of(cluster: Any, run: RunFolder) -> str:
    """Return the node on which a run is at work."""
    return cluster.run("squeue", "-h", "-j", job_of(run), "-o", "%N").strip()
