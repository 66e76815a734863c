"""How long it takes to start, to plan a thousand cells, and to survey a thousand run folders.

python benchmarks/launch.py prints the three against their bounds, and what the survey costs beside
the least it could do: to read the files it needs.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from s2m.cluster.cells import expand
from s2m.cluster.plan import make_plan
from s2m.monitor.survey import survey
from s2m.run.events import Events
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.run.lock import RunLock

CELLS = 1000
WORDS = [
    "encoder=flat_mlp,branch_mlp,dshc_off,dshc,set_transformer,set_transformer_pf,pfds_off,pfds",
    "budget=demo",
]
HEAVY = ("torch", "mujoco", "wandb", "isaaclab")


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def start() -> tuple[float, list[str]]:
    """Time `python -m s2m.launch --help`, and list the heavy libraries it imports."""
    command = [sys.executable, "-X", "importtime", "-m", "s2m.launch", "--help"]
    best, imported = float("inf"), ""
    for _ in range(3):
        began = time.perf_counter()
        imported = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        best = min(best, time.perf_counter() - began)
    modules = {line.split("|")[-1].strip() for line in imported.splitlines()}
    return best, [name for name in HEAVY if name in modules]


def make_runs(root: Path) -> None:
    """Write the folders of runs that have trained for a while."""
    seeds = ",".join(str(seed) for seed in range(CELLS // 8))
    row = {f"metric/{i}": 0.5 for i in range(30)}
    row |= {"curriculum/level": 3.0, "time/iteration": 0.5}
    for cell in make_plan(expand([*WORDS, f"seed={seeds}", f"root={root}"]).compose(), None):
        folder = RunFolder.create(cell.folder.path, asdict(cell.cfg))
        with RunLock.acquire(folder) as lock:
            journal = Journal(folder)
            for iteration in range(1, 21):
                journal.append(iteration, row)
            journal.close()
            Events(folder, lock.attempt.number).append("level", iteration=9, level=3)


def read_all(root: Path) -> None:
    """Read, and do nothing with, the files that a survey looks at."""
    for folder in find_runs(root):
        for path in (folder.run_file, folder.config_file, folder.attempt, folder.journal,
                     folder.events):  # fmt: skip
            path.read_bytes()


def main() -> None:
    table = Table("what", "seconds", "bound", "")
    took, heavy = start()
    table.add_row(
        "python -m s2m.launch --help", f"{took:.2f}", "1.5", ", ".join(heavy) or "no torch"
    )
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "runs"
        seeds = ",".join(str(seed) for seed in range(CELLS // 8))
        words = [*WORDS, f"seed={seeds}", f"root={root}"]
        took = seconds(lambda: make_plan(expand(words).compose(), None))
        table.add_row(f"planning {CELLS} cells", f"{took:.2f}", "20", "")
        make_runs(root)
        took = seconds(lambda: survey(root))
        least = seconds(lambda: read_all(root))
        table.add_row(
            f"status of {CELLS} runs", f"{took:.2f}", "3", f"{took / least:.0f}x reading the files"
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
