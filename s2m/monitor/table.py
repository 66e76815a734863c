"""The survey of runs as text, for people, and as JSON, for programs."""

import json
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2m.cluster.followup import find_steps
from s2m.cluster.queue import Queue
from s2m.cluster.state import COLUMNS
from s2m.cluster.verdict import tail
from s2m.console.terminal import in_place, terminal_width
from s2m.console.text import columns
from s2m.monitor.survey import SurveyedRun, forecast, survey, typical_levels
from s2m.run.status import UNREADABLE

WATCH_SECONDS = 5.0
LEVELS = (3, 5)
"""Levels that are forecast: those of the paper's tables."""
HEAD = ("run", *COLUMNS[:4], *(f"level {level}" for level in LEVELS), *COLUMNS[4:])
LOG_LINES = 5
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
            table = as_text(root, terminal_width())
            if live:
                live.update(Text(table), refresh=True)
            else:
                print(table, end="\n\n", flush=True)
            time.sleep(WATCH_SECONDS)


def as_text(root: Path, width: int | None = None) -> str:
    """Tabulate the runs below a folder, then tell what did not end well."""
    runs = survey(root)
    typical = typical_levels(runs)
    rows = []
    for run in runs:
        shown = {"run": run.name, **run.state.columns()}
        shown |= {f"level {level}": forecast(run, level, typical) for level in LEVELS}
        rows.append([shown[name] for name in HEAD])
    parts = [columns(HEAD, rows, width) if rows else f"no runs in {root}"]
    for run in runs:
        if run.verdict or run.state.status == UNREADABLE:
            parts.append(f"\n{run.name}: {run.verdict or UNREADABLE}\n{_explanation(run)}")
        if run.state.doubt:
            parts.append(f"\n{run.name}: {run.state.doubt}")
    if len(runs) > MANY:
        counts = Counter(run.state.status for run in runs)
        said = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        parts.append(f"\n{len(runs)} runs: {said}")
    queue = Queue.read()
    parts += [f"then {step.name}: {step.state(queue)}" for step in find_steps(root)]
    return "\n".join(parts)


def _explanation(run: SurveyedRun) -> str:
    log = tail(run.folder.log, LOG_LINES).splitlines()
    said = run.state.failure or run.state.last_event
    return "\n".join([said, *(f"  | {line}" for line in log)])


def as_json(root: Path) -> str:
    """Write the runs below a folder as a list of objects."""
    runs = [
        {"run": str(run.folder.path), **asdict(run.state), "verdict": run.verdict}
        for run in survey(root)
    ]
    return json.dumps(runs, indent=1)
