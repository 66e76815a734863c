"""All runs below a folder: where each stands, why it ended, and when it may reach a level."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from s2m.cluster.queue import Queue
from s2m.cluster.state import RunState, inspect
from s2m.cluster.verdict import CODE_CHANGED, DEAD, final_states_of, judge
from s2m.console.errors import in_words
from s2m.console.text import duration, excerpt
from s2m.monitor.index import Index, marks_of
from s2m.run.finding import why_closed
from s2m.run.folder import RunFolder, find_runs
from s2m.run.kind import total_iterations
from s2m.run.naming import Facts, Name, name_all
from s2m.run.status import FAILED, FINISHED, PENDING, QUEUED, RUNNING, STOPPED, UNREADABLE
from s2m.tracking.contents import full_name

Typical = dict[tuple[str, int, int], float]
"""The iteration at which runs of a row and a budget reach a level."""

WHERE = "where"
"""The column of hosts and GPUs, shown once a run computes on one."""

STATES = (RUNNING, FAILED, UNREADABLE, STOPPED, QUEUED, PENDING, FINISHED)
"""What people look for first comes first."""


@dataclass(frozen=True)
class SurveyedRun:
    """One run, with what is only known from all of them."""

    folder: RunFolder
    state: RunState
    told: Name | None = None
    """What it is called among the runs of its experiment; nothing if its config is lost."""
    verdict: str = ""
    """Why it is not finished, if nobody is at it."""

    @cached_property
    def place(self) -> str:
        """The run's experiment and folder."""
        return excerpt(full_name(self.folder))

    @cached_property
    def name(self) -> str:
        """The run's experiment and what it is called there."""
        experiment, _, folder = self.place.partition("/")
        return excerpt(f"{experiment}/{self.told or folder}")

    @cached_property
    def row(self) -> str:
        """The name without the seed."""
        return excerpt(self.told.row if self.told else self.folder.path.name.rsplit("-", 2)[0])


def survey(root: Path, queue: Queue | None = None) -> list[SurveyedRun]:
    """Return every run below a folder; one that cannot be read says why.

    SLURM is asked where no `queue` is given. Finished runs are read once (`index.py`).
    """
    queue, index, found = queue or Queue.read(root), Index(root), []
    known: dict[Path, dict[str, Facts]] = {}
    for folder in find_runs(root):
        try:
            state, facts = index.find(folder) or _read(folder, queue, index)
            known.setdefault(folder.path.parent, {})[folder.path.name] = facts
        except Exception as error:  # whatever is wrong with one folder, the others are shown
            state = RunState(UNREADABLE, failure=why_closed(folder.path) or in_words(error))
        found.append((folder, state))
    index.save()
    names = {place: name_all(some) for place, some in known.items()}
    ended = [folder for folder, state in found if _has_ended(state)]
    places = {folder.path: queue.of(folder.path) for folder in ended} if queue else {}
    asked = [place for place in places.values() if place and queue and not queue.silent]
    final = final_states_of(asked)
    runs = []
    for folder, state in found:
        verdict = ""
        if _has_ended(state):
            place = places.get(folder.path)
            end = final.get(place.id, "") if place else ""
            verdict = judge(folder, state.failure, state.last_event, end, place)
            if state.dead and verdict != CODE_CHANGED:
                verdict = DEAD
        told = names.get(folder.path.parent, {}).get(folder.path.name)
        runs.append(SurveyedRun(folder, state, told, verdict))
    return runs


def _read(folder: RunFolder, queue: Queue | None, index: Index) -> tuple[RunState, Facts]:
    marks = marks_of(folder)
    config = folder.config()
    state, facts = inspect(folder, total_iterations(config), queue), Facts.of(config)
    index.keep(folder, state, facts, marks)
    return state, facts


def advice_on_silence(run: SurveyedRun) -> str:
    """Say what to do about a run that is silent; empty if it is not."""
    state = run.state
    if state.silent is None:
        return ""
    kill = f"kill -9 {state.pid} on {state.host}" if state.pid else f"scancel {state.job}"
    return (
        f"silent for {duration(state.silent)}\n"
        f"-> python -m s2m.logs {run.folder.path} shows what it printed last; if it hangs, {kill}, "
        "and the same launch resumes it"
    )


def _has_ended(state: RunState) -> bool:
    return state.status in (FAILED, STOPPED)


def by_state(runs: Sequence[SurveyedRun]) -> list[SurveyedRun]:
    """Return the runs that are running first, those that are finished last."""
    return sorted(runs, key=lambda run: STATES.index(run.state.status))


def count_states(runs: Sequence[SurveyedRun]) -> str:
    """Write how many runs are in each state: "2 running, 40 finished"."""
    counts = Counter(run.state.status for run in runs)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def shows_where(runs: Sequence[SurveyedRun]) -> bool:
    """Tell whether any run is running on a GPU."""
    return any(run.state.where for run in runs)


def typical_levels(runs: Sequence[SurveyedRun]) -> Typical:
    """Return the median iteration of each level over the runs of a row and budget."""
    reached: dict[tuple[str, int, int], list[int]] = {}
    for run in runs:
        for level, iteration in run.state.levels.items():
            reached.setdefault((run.row, run.state.total, level), []).append(iteration)
    return {key: statistics.median(values) for key, values in reached.items()}


def forecast(run: SurveyedRun, level: int, typical: Typical) -> str:
    """Write when a level was reached, or how long it will take at the pace of other runs."""
    state = run.state
    if level in state.levels:
        return f"at {state.levels[level]}"
    expected = typical.get((run.row, state.total, level))
    if state.status != RUNNING or state.seconds is None or expected is None:
        return ""
    left = (expected - state.iteration) * state.seconds
    return f"in {duration(left)}" if left > 0 else "late"
