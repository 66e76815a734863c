"""What a launch says of the runs that it does not execute."""

from collections import defaultdict
from collections.abc import Callable

from s2m.cluster.plan import Plan
from s2m.cluster.queue import Queue
from s2m.cluster.verdict import ADVICE, DEAD
from s2m.run.status import FAILED, QUEUED, UNREADABLE

Say = Callable[[str], object]


def left_alone(plan: Plan, queue: Queue | None, say: Say) -> None:
    """Say which runs are skipped, and why where somebody can do something about it."""
    left = [cell for cell in plan if not cell.due()]
    for status in sorted({cell.state.status for cell in left}):
        number = sum(cell.state.status == status for cell in left)
        hint = " (retry_failed=true reruns them)" if status == FAILED else ""
        say(f"{number} of {len(plan)} runs {status}, skipped{hint}")
        if status == QUEUED and queue and queue.silent:
            say("squeue does not answer: runs that were submitted count as queued")
    for cell in left:
        if cell.state.status == UNREADABLE:
            say(f"{UNREADABLE}: {cell.state.failure}")
    for doubt in dict.fromkeys(cell.state.doubt for cell in left if cell.state.doubt):
        say(doubt)
    _dead_arrays(plan, queue, say)


def _dead_arrays(plan: Plan, queue: Queue | None, say: Say) -> None:
    """Say what to check where no job of an array has got as far as its runs."""
    dead = defaultdict(list)
    for cell in plan:
        if cell.state.dead and queue and (place := queue.of(cell.folder.path)):
            dead[place.submission.manifest.name].append((cell, place))
    for found in dead.values():
        cell, place = found[0]
        manifest = place.submission.manifest
        if len(found) == len(manifest.runs):
            say(f"no element of job {manifest.job} reached its run: {cell.state.failure}")
            say(f"-> {ADVICE[DEAD]}")


def exit_code(plan: Plan) -> int:
    """Return 1 if a plan leaves runs alone that have failed or cannot be read."""
    left = [cell.state.status for cell in plan if not cell.due()]
    return int(FAILED in left or UNREADABLE in left)
