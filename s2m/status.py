"""Where all runs stand: python -m s2m.status [FOLDER] [--watch] [--json]. Reads only."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from s2m.cluster.state import RunState, inspect
from s2m.errors import UserError, run_command
from s2m.progress import duration
from s2m.run.folder import RunFolder, find_runs

WATCH_SECONDS = 5.0


def survey(root: Path) -> list[tuple[RunFolder, RunState]]:
    """Return the state of every run below a folder; one that cannot be read says why."""
    found = []
    for folder in find_runs(root):
        try:
            total = int(folder.config()["budget"]["iterations"])
            found.append((folder, inspect(folder, total)))
        except (UserError, KeyError, TypeError) as error:
            found.append((folder, RunState("unreadable", failure=str(error))))
    return found


def status_table(runs: list[tuple[RunFolder, RunState]]) -> Table:
    """Tabulate the runs, one line each."""
    table = Table(
        "run", "state", "level", "iteration", "s/iteration", "end", "last event", box=None
    )
    for folder, state in runs:
        ending = duration(state.left) if state.status == "running" else ""
        rate = f"{state.seconds:.2f}" if state.seconds else ""
        table.add_row(
            f"{folder.path.parent.name}/{folder.path.name}", state.status, str(state.level or ""),
            f"{state.iteration}/{state.total}", rate, ending, state.failure or state.last_event,
        )  # fmt: skip
    return table


def main(words: list[str]) -> int:
    """Print the table once, as JSON, or again and again."""
    flags = {word for word in words if word.startswith("-")}
    paths = [word for word in words if not word.startswith("-")]
    if flags - {"--watch", "--json"} or len(paths) > 1:
        raise UserError("usage: python -m s2m.status [FOLDER] [--watch] [--json]")
    root = Path(paths[0] if paths else "runs")
    if not root.is_dir():
        raise UserError(f"{root} is no folder; runs are kept in ./runs unless root= says otherwise")
    if "--json" in flags:
        rows = [{"run": str(f.path), **asdict(s)} for f, s in survey(root)]
        json.dump(rows, sys.stdout, indent=1)
        print()
        return 0
    console = Console()
    if not console.is_terminal:
        console.width = 160
    if "--watch" not in flags:
        console.print(status_table(survey(root)))
        return 0
    with Live(status_table(survey(root)), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(WATCH_SECONDS)
            live.update(status_table(survey(root)), refresh=True)


if __name__ == "__main__":
    run_command(main)
