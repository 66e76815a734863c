"""How planning, status and tables grow with the size of a study: python -m benchmarks.scale.

A study of 100 to 10,000 cells on sim=dummy goes through the commands that people type, each in a
process of its own: the plan, the launch on a pretended SLURM, status while all wait, then (the runs
having ended, see simulated.py) status, its page, the plan once more, and tables. Prints time, CPU
time, peak memory and files against the bounds, and how each grows from 1,000 to 10,000 cells;
--write puts table and figure into docs/scale.md.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from analysis.docs import replace_section
from benchmarks.simulated import empty_queue, pretend_slurm

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs/scale.md", ROOT / "docs/figures"
CELLS = (100, 300, 1000, 3000, 10_000)
WORDS = [
    "encoder=pfds,dshc", "permute=true,false", "sim=dummy", "budget=demo", "budget.num_envs=8",
    "budget.steps=4", "budget.iterations=1000", "budget.checkpoint_every=100", "ppo.epochs=1",
    "ppo.mini_batches=1", "encoder.width=8", "encoder.embedding=8",
    "evaluate.episodes=10", "evaluate.selection_episodes=10", "tracking=disabled", "cluster=slurm",
]  # fmt: skip
"""Four variants; a quarter of the cells are the seeds of each."""
BOUNDS = {
    "plan": 180.0, "launch": math.inf, "status, queued": 20.0, "status": 20.0,
    "status again": 3.0, "page": 20.0, "plan again": 180.0, "tables": 180.0,
}  # fmt: skip
"""CPU seconds that each phase may take at the largest size."""
MOST_MEMORY = 2.0
"""Gigabytes."""
STEEPEST = 1.1
"""Power of the number of cells that still counts as linear growth."""


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    seconds: float
    core: float
    """CPU seconds, of its children, too."""
    gigabytes: float
    """Peak memory of the largest process."""


@dataclass(frozen=True)
class Study:
    """All that was measured at one size."""

    cells: int
    costs: dict[str, Cost]
    files: int
    bytes: int
    written: int
    """Files that the tables are."""


def run(words: list[str], environment: dict[str, str], log: Path) -> Cost:
    """Run a command of the project to its end; what it prints goes to a file."""
    began = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
        raise SystemExit(f"{' '.join(words)} failed with {process.returncode}:\n{last}")
    seconds = time.perf_counter() - began
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9)


def study(cells: int, place: Path) -> Study:
    """Take a study of some size through all phases, or return what was measured of it before."""
    record = place / "measured.json"
    if record.exists():
        known = json.loads(record.read_text())
        costs = {name: Cost(**cost) for name, cost in known.pop("costs").items()}
        return Study(costs=costs, **known)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    root, out, slurm = place / "runs", place / "tables", place / "slurm"
    environment = pretend_slurm(slurm)
    launch = ["-m", "s2m.launch", "-m", *WORDS, f"root={root}", f"seed=range(0,{cells // 4})"]
    status = ["-m", "s2m.status", str(root)]
    costs: dict[str, Cost] = {}

    def measure(name: str, words: list[str]) -> None:
        costs[name] = cost = run(words, environment, place / f"{name}.log")
        print(
            f"{cells:6} {name:15} {cost.seconds:7.1f} s {cost.core:7.1f} s of one core "
            f"{cost.gigabytes:6.2f} GB", flush=True,
        )  # fmt: skip

    measure("plan", [*launch, "dry=true"])
    measure("launch", launch)
    measure("status, queued", status)
    empty_queue(slurm)
    finish = ["-m", "benchmarks.simulated", str(root), str(place.parent / "samples")]
    run(finish, environment, place / "finish.log")
    measure("status", status)
    measure("status again", status)
    measure("page", [*status, "--html", str(place / "runs.html")])
    measure("plan again", [*launch, "dry=true"])
    measure("tables", ["analysis/make_tables.py", "--runs", str(root), "--out", str(out)])
    files, size = count(root)
    found = Study(cells, costs, files, size, count(out)[0])
    record.write_text(json.dumps(asdict(found)))
    return found


def count(folder: Path) -> tuple[int, int]:
    """Return how many files lie below a folder, and their bytes, hard links counted once."""
    seen: dict[int, int] = {}
    files = 0
    for name, _, names in os.walk(folder):
        for entry in ((Path(name) / file).stat() for file in names):
            files += 1
            seen[entry.st_ino] = entry.st_size
    return files, sum(seen.values())


def power(studies: list[Study], name: str) -> float:
    """Return the power of the number of cells by which CPU time grew over the last decade."""
    last = studies[-1]
    first = next((s for s in studies if s.cells * 10 >= last.cells), studies[0])
    if first is last:
        return math.nan
    ratio = last.costs[name].core / first.costs[name].core
    return math.log(ratio) / math.log(last.cells / first.cells)


def table(studies: list[Study]) -> str:
    """Return all that was measured as Markdown."""
    heads = [f"{s.cells:,} cells" for s in studies]
    lines = [f"| phase | {' | '.join(heads)} | bound | grows as cells^ |"]
    lines.append("|---" * (len(heads) + 3) + "|")
    for name, bound in BOUNDS.items():
        costs = [s.costs[name] for s in studies]
        cells = [f"{c.seconds:.1f} s ({c.core:.1f} s), {1000 * c.gigabytes:.0f} MB" for c in costs]
        said = f"{bound:.0f} s" if math.isfinite(bound) else ""
        lines.append(f"| {name} | {' | '.join(cells)} | {said} | {power(studies, name):.2f} |")
    files = [f"{s.files:,} ({s.bytes / 1e6:,.0f} MB)" for s in studies]
    lines.append(f"| files of the study | {' | '.join(files)} | | |")
    lines.append(f"| files of the tables | {' | '.join(str(s.written) for s in studies)} | | |")
    return "\n".join(lines)


def exceeded(studies: list[Study]) -> list[str]:
    """Name every bound that does not hold at the largest size."""
    last, said = studies[-1], []
    for name, bound in BOUNDS.items():
        cost, grown = last.costs[name], power(studies, name)
        if cost.core > bound:
            said.append(f"{name} took {cost.core:.1f} s of one core, bound {bound:.0f} s")
        if cost.gigabytes > MOST_MEMORY:
            said.append(f"{name} took {cost.gigabytes:.1f} GB, bound {MOST_MEMORY} GB")
        if grown > STEEPEST:
            said.append(f"{name} grows as cells^{grown:.2f}, bound {STEEPEST}")
    return said


def draw(studies: list[Study], folder: Path) -> None:
    """Write scale.svg and scale.png: CPU time and memory over the number of cells."""
    from analysis.figures.draw import Drawing, new_figure, render

    def paint():
        figure, axes = new_figure(2.8, 1, 2)
        cells = [s.cells for s in studies]
        for name in BOUNDS:
            costs = [s.costs[name] for s in studies]
            axes[0, 0].plot(cells, [c.core for c in costs], "o-", ms=3, label=name)
            axes[0, 1].plot(cells, [1000 * c.gigabytes for c in costs], "o-", ms=3, label=name)
        low = min(cost.core for cost in studies[0].costs.values())
        line = [low * n / cells[0] for n in cells]
        axes[0, 0].plot(cells, line, "k:", lw=0.8, label="proportional")
        axes[0, 1].axhline(1000 * MOST_MEMORY, color="k", ls=":", lw=0.8)
        for axis, label in zip(axes[0], ("CPU time, s", "peak memory, MB"), strict=True):
            axis.set(xscale="log", yscale="log", xlabel="cells", ylabel=label)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return figure

    drawn = render(Drawing("scale", "", "", paint))
    for kind in ("svg", "png"):
        (folder / f"scale.{kind}").write_bytes(drawn[kind])


def main() -> int:
    """Measure all sizes; 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=CELLS, help="sizes, multiples of 4")
    keep = "folder to leave the studies in; what it holds is not measured again"
    parser.add_argument("--keep", type=Path, help=keep)
    parser.add_argument("--write", action="store_true", help="write docs/scale.md and its figure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="s2m-scale-") as name:
        place = options.keep or Path(name)
        studies = [study(cells, place / str(cells)) for cells in sorted(options.cells)]
    print(table(studies))
    for line in (said := exceeded(studies)):
        print(line)
    if options.write:
        replace_section(PAGE, "scale table", table(studies))
        draw(studies, FIGURES)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
