"""System calls per run, at launch and in status: python -m benchmarks.calls.

Counted by strace are the calls that name a file of the study, by path or descriptor, on a pretended
SLURM (simulated.py): what a file system of a cluster has to answer. The difference between two
sizes leaves out what a command does once. Prints a table; --write puts it into docs/scale.md.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from analysis.docs import replace_section
from benchmarks.scale import PAGE, ROOT, WORDS
from benchmarks.simulated import empty_queue, pretend_slurm

SIZES = (40, 240)
BOUNDS = {
    "launch, per new run": 26.0, "status, per queued run": 34.0,
    "status, per finished run": 60.0, "status again, per finished run": 12.0,
}  # fmt: skip
"""Calls that each may take."""


def calls(words: list[str], environment: dict[str, str], root: Path) -> int:
    """Run a command of the project and count its calls that concern the files below a folder."""
    trace = root.parent / "trace"
    subprocess.run(
        ["strace", "-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-o", str(trace),
         sys.executable, *words],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    lines = trace.read_text(errors="replace").splitlines()
    other = re.compile(r"^\d+ +(?:execve\(|<\.\.\.)")
    return sum(str(root) in line and not other.match(line) for line in lines)


def study(cells: int, place: Path) -> list[int]:
    """Count what a study of some size takes, in the order of `BOUNDS`."""
    root, slurm = place / "runs", place / "slurm"
    environment = pretend_slurm(slurm)
    launch = ["-m", "s2m.launch", "-m", *WORDS, f"root={root}", f"seed=range(0,{cells // 4})"]
    status = ["-m", "s2m.status", str(root)]
    found = [calls(launch, environment, root), calls(status, environment, root)]
    empty_queue(slurm)
    finish = ["-m", "benchmarks.simulated", str(root), str(place.parent / "samples")]
    subprocess.run(
        [sys.executable, *finish], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    return [*found, calls(status, environment, root), calls(status, environment, root)]


def main() -> int:
    """Count; 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    options = parser.parse_args()
    if shutil.which("strace") is None:
        print("strace is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="s2m-calls-") as name:
        small, large = (study(cells, Path(name) / str(cells)) for cells in SIZES)
    per_run = [(b - a) / (SIZES[1] - SIZES[0]) for a, b in zip(small, large, strict=True)]
    lines = ["| | calls | bound |", "|---|---|---|"]
    for (what, bound), value in zip(BOUNDS.items(), per_run, strict=True):
        lines.append(f"| {what} | {value:.1f} | {bound:.0f} |")
    table = "\n".join(lines)
    print(table)
    if options.write:
        replace_section(PAGE, "calls", table)
    return int(any(value > bound for value, bound in zip(per_run, BOUNDS.values(), strict=True)))


if __name__ == "__main__":
    sys.exit(main())
