"""The survey of runs as text, for people, and as JSON, for programs."""

import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2m.cluster.followup import find_steps
from s2m.cluster.queue import Queue
from s2m.cluster.state import COLUMNS
from s2m.cluster.verdict import ADVICE, GPU_LOST, tail
from s2m.console.terminal import in_place, terminal_width
from s2m.console.text import GAP, columns
from s2m.monitor.survey import (
    WHERE,
    SurveyedRun,
    advice_on_silence,
    by_state,
    count_states,
    forecast,
    shows_where,
    survey,
    typical_levels,
)
from s2m.run.status import UNREADABLE

WATCH_SECONDS = 5.0
SECONDS_PER_RUN = 0.005
"""A watch of thousands of runs looks more rarely, as each look reads them all."""
LEVELS = (3, 5)
"""Levels that are forecast: those of the paper's tables."""
HEAD = ("run", *COLUMNS[:4], *(f"level {level}" for level in LEVELS), "end", WHERE, *COLUMNS[5:])
LOG_LINES = 5
LAST_TO_GO = ("s/iteration", "level", "end", "iteration")
"""Columns that a narrow screen leaves out last, in this order; run and state stay."""
CUT = 12
"""Characters of the last event that are worth their column."""
MANY = 20
"""Runs beyond which a line at the end counts them by state."""


def print_table(root: Path, watch: bool = False) -> None:
    """Print the table once, or renew it until Ctrl-C."""
    if not watch:
        print(as_text(root, terminal_width()))
        return
    console = Console()
    with Live(console=console, auto_refresh=False) if in_place(console) else nullcontext() as live:
        while True:
            queue = Queue.read(root)
            runs = survey(root, queue)
            if live:
                live.update(Text(as_screen(root, *console.size, runs)), refresh=True)
            else:
                print(as_text(root, terminal_width(), runs, queue), end="\n\n", flush=True)
            time.sleep(max(WATCH_SECONDS, SECONDS_PER_RUN * len(runs)))


def as_text(
    root: Path,
    width: int | None = None,
    runs: Sequence[SurveyedRun] | None = None,
    queue: Queue | None = None,
) -> str:
    """Tabulate the runs below a folder, then tell what did not end well.

    Runs that were surveyed already come with the queue they were surveyed by.
    """
    if runs is None:
        queue = Queue.read(root)
        runs = survey(root, queue)
    parts = [columns(*_rows(runs), width) if runs else f"no runs in {root}"]
    for run in runs:
        if run.verdict or run.state.status == UNREADABLE:
            at = f" on {run.state.place}" if run.verdict == GPU_LOST and run.state.place else ""
            said = f"{run.verdict or UNREADABLE}{at}"
            parts.append(f"\n{run.place}: {said}\n{_explanation(run)}")
        if run.state.doubt:
            parts.append(f"\n{run.place}: {run.state.doubt}")
        if advice := advice_on_silence(run):
            parts.append(f"\n{run.place}: {advice}")
    if len(runs) > MANY:
        parts.append(f"\n{len(runs)} runs: {count_states(runs)}")
    parts += [f"then {step.name}: {step.state(queue)}" for step in find_steps(root)]
    return "\n".join(parts)


def as_screen(
    root: Path, width: int, height: int, runs: Sequence[SurveyedRun] | None = None
) -> str:
    """Tabulate the runs for a screen of any size: running first, the rest counted."""
    runs = by_state(survey(root) if runs is None else runs)
    if not runs:
        return f"no runs in {root}"[:width]
    lines = [f"{len(runs)} runs: {count_states(runs)}"[:width]]
    # The head of the table and the line on the rest take one each; a screen keeps its last free.
    room = max(1, height - len(lines) - 2)
    shown = runs if len(runs) <= room else runs[: max(1, room - 1)]
    lines += columns(*_narrow(*_rows(shown, runs), width), width).splitlines()
    if rest := runs[len(shown) :]:
        lines.append(f"... and {len(rest)} more: {count_states(rest)}"[:width])
    for run in runs:
        if run.verdict and len(lines) < height - 1:
            lines.append(f"{run.place}: {run.verdict}: {run.state.failure}"[:width])
    return "\n".join(lines[: max(1, height - 1)])


def _rows(
    runs: Sequence[SurveyedRun], every: Sequence[SurveyedRun] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of some runs; forecasts come from every run."""
    typical = typical_levels(every or runs)
    head, rows = [name for name in HEAD if name != WHERE or shows_where(runs)], []
    for run in runs:
        shown = {"run": run.name, WHERE: run.state.where, **run.state.columns()}
        shown |= {f"level {level}": forecast(run, level, typical) for level in LEVELS}
        rows.append([shown[name] for name in head])
    return head, rows


def _narrow(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> tuple[list[str], list[list[str]]]:
    """Leave out the columns that matter least until the others fit; names lose their beginning."""
    kept = list(range(len(head)))
    sizes = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def needed() -> int:
        # The last event may be cut.
        fixed = [min(sizes[i], CUT) if head[i] == COLUMNS[-1] else sizes[i] for i in kept]
        return sum(fixed) + len(GAP) * (len(kept) - 1)

    order = [name for name in head[2:] if name not in LAST_TO_GO]
    for name in [*reversed(order), *LAST_TO_GO]:
        if needed() > width:
            kept.remove(head.index(name))
    over = max(0, needed() - width)
    names = [_end_of(row[0], max(1, sizes[0] - over)) for row in rows]
    cut = [[name, *row[1:]] for name, row in zip(names, rows, strict=True)]
    return [head[i] for i in kept], [[row[i] for i in kept] for row in cut]


def _end_of(name: str, size: int) -> str:
    """Return the end of a name, where variant and seed stand."""
    return name if len(name) <= size else f"…{name[len(name) - size + 1 :]}"


def _explanation(run: SurveyedRun) -> str:
    log = tail(run.folder.log, LOG_LINES).splitlines()
    said = [run.state.failure or run.state.last_event]
    if advice := ADVICE.get(run.verdict):
        said.append(f"-> {advice}")
    return "\n".join([*said, *(f"  | {line}" for line in log)])


def as_json(root: Path) -> str:
    """Write the runs below a folder as a list of objects."""
    runs = [
        {"run": str(run.folder.path), **asdict(run.state), "verdict": run.verdict}
        for run in survey(root)
    ]
    return json.dumps(runs, indent=1)
