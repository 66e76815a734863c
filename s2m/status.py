"""Where all runs stand: python -m s2m.status [FOLDER] [--watch] [--json | --html FILE].

It only reads. Below the table stand runs that did not end well, with a verdict and the end of their
log. The estimates to levels 3 and 5 come from runs of the same variant and budget that reached
them.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2m.cluster.followup import find_steps
from s2m.cluster.queue import Queue
from s2m.cluster.state import RunState, in_words, inspect
from s2m.cluster.verdict import final_states_of, judge, tail
from s2m.console.errors import UserError, run_command
from s2m.console.terminal import in_place, terminal_width
from s2m.console.text import columns, duration, harmless, one_line
from s2m.run.folder import RunFolder, find_runs
from s2m.run.kind import total_iterations
from s2m.run.status import FAILED, RUNNING, STOPPED, UNREADABLE
from s2m.tracking.contents import full_name

WATCH_SECONDS = 5.0
PAGE_SECONDS = 30.0
"""How often --html --watch writes the page anew, and a browser loads it."""
FORECAST = (3, 5)
"""The levels of the paper's tables."""
LOG_LINES = 5
MANY = 20
"""Runs beyond which a line at the end counts them by state."""


@dataclass(frozen=True)
class Entry:
    """One run, with what is only known from all of them."""

    folder: RunFolder
    state: RunState
    verdict: str = ""
    """Why it is not finished, if nobody is at it."""

    @property
    def name(self) -> str:
        """The run's experiment and folder."""
        return one_line(full_name(self.folder))


def survey(root: Path) -> list[Entry]:
    """Return the state of every run below a folder; one that cannot be read says why."""
    queue, found = Queue.read(), []
    for folder in find_runs(root):
        try:
            found.append((folder, inspect(folder, total_iterations(folder.config()), queue)))
        except Exception as error:  # whatever is wrong with one folder, the others are shown
            found.append((folder, RunState(UNREADABLE, failure=in_words(error))))
    ended = [folder for folder, state in found if _has_ended(state)]
    final = final_states_of(ended) if queue and not queue.silent else {}
    entries = []
    for folder, state in found:
        verdict = ""
        if _has_ended(state):
            verdict = judge(
                folder, state.failure, state.last_event, final.get(str(folder.path), "")
            )
        entries.append(Entry(folder, state, verdict))
    return entries


def _has_ended(state: RunState) -> bool:
    return state.status in (FAILED, STOPPED)


def typical_levels(entries: list[Entry]) -> dict[tuple[str, int, int], float]:
    """Return the median iteration of each level over the runs of a variant and budget."""
    reached: dict[tuple[str, int, int], list[int]] = {}
    for entry in entries:
        for level, iteration in entry.state.levels.items():
            key = (_variant(entry), entry.state.total, level)
            reached.setdefault(key, []).append(iteration)
    return {key: statistics.median(values) for key, values in reached.items()}


def _variant(entry: Entry) -> str:
    return entry.folder.path.name.rsplit("-", 2)[0]


def _to_level(entry: Entry, level: int, typical: dict[tuple[str, int, int], float]) -> str:
    """Write when a level was reached, or how long it will take at the pace of other runs."""
    state = entry.state
    if level in state.levels:
        return f"at {state.levels[level]}"
    expected = typical.get((_variant(entry), state.total, level))
    if state.status != RUNNING or state.seconds is None or expected is None:
        return ""
    left = (expected - state.iteration) * state.seconds
    return f"in {duration(left)}" if left > 0 else "late"


def show(root: Path, width: int | None = None) -> str:
    """Tabulate the runs, then tell what did not end well."""
    entries = survey(root)
    typical = typical_levels(entries)
    forecast = [f"level {level}" for level in FORECAST]
    head = ["run", "state", "level", "iteration", "s/iteration", *forecast, "end", "last event"]
    rows = []
    for entry in entries:
        state = entry.state
        status = f"{state.status} ({state.stage})" if state.stage == "evaluate" else state.status
        rows.append(
            [
                entry.name, status, str(state.level or ""), f"{state.iteration}/{state.total}",
                f"{state.seconds:.2f}" if state.seconds else "",
                *(_to_level(entry, level, typical) for level in FORECAST),
                duration(state.left) if state.status == RUNNING else "", state.last_event,
            ]
        )  # fmt: skip
    parts = [columns(head, rows, width) if rows else f"no runs in {one_line(str(root))}"]
    for entry in entries:
        if entry.verdict or entry.state.status == UNREADABLE:
            parts.append(f"\n{entry.name}: {entry.verdict or UNREADABLE}\n{_explanation(entry)}")
        if entry.state.doubt:
            parts.append(f"\n{entry.name}: {one_line(entry.state.doubt)}")
    if len(entries) > MANY:
        counts = Counter(entry.state.status for entry in entries)
        said = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        parts.append(f"\n{len(entries)} runs: {said}")
    queue = Queue.read()
    parts += [f"then {one_line(s.record.stem)}: {s.state(queue)}" for s in find_steps(root)]
    return "\n".join(parts)


def _explanation(entry: Entry) -> str:
    lines = [entry.state.failure or entry.state.last_event]
    log = tail(entry.folder.log, LOG_LINES)
    said = [*lines, *(f"  | {line}" for line in log.splitlines())]
    return "\n".join(map(harmless, said))


def _as_json(entries: list[Entry]) -> list[dict]:
    return [
        {"run": str(entry.folder.path), **asdict(entry.state), "verdict": entry.verdict}
        for entry in entries
    ]


def _write_page(root: Path, target: Path, refresh: float | None = None) -> None:
    from s2m.monitor.page import build, read_all, write

    runs = read_all([(entry.folder, entry.name, entry.state) for entry in survey(root)])
    write(target, build(runs, str(root), refresh))


def main(words: list[str]) -> int:
    """Print the table once, as JSON, or again and again; or write the page."""
    options = _parse(words)
    root = Path(options.folder)
    if not root.is_dir():
        raise UserError(f"{root} is no folder; runs are kept in ./runs unless root= says otherwise")
    if options.html and options.html.is_dir():
        raise UserError(f"--html {options.html} is a folder: allowed is a file, as runs.html")
    if options.json:
        json.dump(_as_json(survey(root)), sys.stdout, indent=1)
        print()
        return 0
    if options.html:
        _write_page(root, options.html, PAGE_SECONDS if options.watch else None)
        print(f"wrote {options.html}", flush=True)
        while options.watch:
            time.sleep(PAGE_SECONDS)
            _write_page(root, options.html, PAGE_SECONDS)
        return 0
    if not options.watch:
        print(show(root, terminal_width()))
        return 0
    console = Console()
    with Live(console=console, auto_refresh=False) if in_place(console) else nullcontext() as live:
        while True:
            table = show(root, terminal_width())
            if live:
                live.update(Text(table), refresh=True)
            else:
                print(table, end="\n\n", flush=True)
            time.sleep(WATCH_SECONDS)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.status", description=__doc__)
    add = parser.add_argument
    add("folder", nargs="?", default="runs", metavar="FOLDER", help="folder of runs (runs)")
    add("--watch", action="store_true", help="go on until Ctrl-C")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--json", action="store_true", help="print the states for programs")
    kinds.add_argument("--html", type=Path, metavar="FILE", help="write a page with all curves")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
