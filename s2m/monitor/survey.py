"""All runs below a folder: where each stands, why it ended, and when it may reach a level."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from s2m.cluster.queue import Queue
from s2m.cluster.state import RunState, inspect
from s2m.cluster.verdict import final_states_of, judge
from s2m.console.errors import in_words
from s2m.console.text import duration, excerpt
from s2m.run.folder import RunFolder, find_runs
from s2m.run.kind import total_iterations
from s2m.run.status import FAILED, RUNNING, STOPPED, UNREADABLE
from s2m.tracking.contents import full_name

Typical = dict[tuple[str, int, int], float]
"""The iteration at which runs of a variant and a budget reach a level."""


@dataclass(frozen=True)
class SurveyedRun:
    """One run, with what is only known from all of them."""

    folder: RunFolder
    state: RunState
    verdict: str = ""
    """Why it is not finished, if nobody is at it."""

    @cached_property
    def name(self) -> str:
        """The run's experiment and folder."""
        return excerpt(full_name(self.folder))

    @cached_property
    def variant(self) -> str:
        """The name without seed and signature."""
        return excerpt(self.folder.path.name.rsplit("-", 2)[0])


def survey(root: Path) -> list[SurveyedRun]:
    """Return every run below a folder; one that cannot be read says why."""
    queue, found = Queue.read(), []
    for folder in find_runs(root):
        try:
            found.append((folder, inspect(folder, total_iterations(folder.config()), queue)))
        except Exception as error:  # whatever is wrong with one folder, the others are shown
            found.append((folder, RunState(UNREADABLE, failure=in_words(error))))
    ended = [folder for folder, state in found if _has_ended(state)]
    final = final_states_of(ended) if queue and not queue.silent else {}
    runs = []
    for folder, state in found:
        verdict = ""
        if _has_ended(state):
            verdict = judge(
                folder, state.failure, state.last_event, final.get(str(folder.path), "")
            )
        runs.append(SurveyedRun(folder, state, verdict))
    return runs


def _has_ended(state: RunState) -> bool:
    return state.status in (FAILED, STOPPED)


def typical_levels(runs: Sequence[SurveyedRun]) -> Typical:
    """Return the median iteration of each level over the runs of a variant and budget."""
    reached: dict[tuple[str, int, int], list[int]] = {}
    for run in runs:
        for level, iteration in run.state.levels.items():
            reached.setdefault((run.variant, run.state.total, level), []).append(iteration)
    return {key: statistics.median(values) for key, values in reached.items()}


def forecast(run: SurveyedRun, level: int, typical: Typical) -> str:
    """Write when a level was reached, or how long it will take at the pace of other runs."""
    state = run.state
    if level in state.levels:
        return f"at {state.levels[level]}"
    expected = typical.get((run.variant, state.total, level))
    if state.status != RUNNING or state.seconds is None or expected is None:
        return ""
    left = (expected - state.iteration) * state.seconds
    return f"in {duration(left)}" if left > 0 else "late"
