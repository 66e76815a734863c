"""How long tables and figures take, against their bounds and TensorBoard's reader.

python benchmarks/analysis.py [--runs 1000] runs `python analysis/make_tables.py` on the 43 runs of
results/desktop, twice: the second call has nothing to draw. Then it writes synthetic runs of 30,000
iterations and 30 metrics, which share 40 files of metrics through hard links, and makes the tables
of all, with the peak memory. TensorBoard reads one run of a tenth of the length; its time is scaled
up linearly. All files are in the page cache. Seconds are those of one core, user and system, on an
idle machine; the exit code is 1 if a bound does not hold. --runs 0 leaves the synthetic runs out.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "results" / "desktop"
ONCE, AGAIN, MANY = 6.0, 0.5, 60.0
"""Bounds: seconds for the archive, the part of them that a second call takes, seconds for many."""
FASTER, MEMORY_GB = 20.0, 1.5
REPEATS = 3
"""Of each call the fastest counts: other programs only add to it."""
ITERATIONS, METRICS, FEW = 30_000, 30, 40
VARIANTS = (
    "flat_mlp", "branch_mlp", "dshc_off", "dshc", "set_transformer", "set_transformer_pf",
    "pfds_off", "pfds",
)  # fmt: skip
LEVELS = {2: 2000, 3: 4000, 4: 5000, 5: 6300}


def write_runs(root: Path, count: int) -> None:
    """Write runs whose metrics are random numbers, which do not compress."""
    from s2m.run.metrics import write_table
    from tests.analysis.synthetic import Spec, metrics, write_run

    generator = np.random.default_rng(0)
    rates = {k: (100 - 12 * k, 100 - k) for k in range(1, 6)}
    written: list[Path] = []
    for i in range(count):
        levels = {k: at + i for k, at in LEVELS.items()}
        variant = VARIANTS[i % len(VARIANTS)]
        spec = Spec(variant, 40 + i // len(VARIANTS), levels=levels, rates=rates)
        folder = write_run(root, spec)
        folder.metrics.unlink()
        if len(written) >= FEW:
            os.link(written[i % FEW], folder.metrics)
            continue
        spec.changed = ITERATIONS
        table = metrics(spec, ITERATIONS)
        for j in range(METRICS - table.num_columns + 1):
            table = table.append_column(
                f"other/{j}", pyarrow.array(generator.normal(size=ITERATIONS))
            )
        for name in [n for n in table.column_names if n.startswith("criteria/")]:
            noisy = table[name].to_numpy() + generator.normal(0, 0.01, ITERATIONS)
            table = table.set_column(table.column_names.index(name), name, pyarrow.array(noisy))
        write_table(folder.metrics, table)
        written.append(folder.metrics)


@dataclass(frozen=True)
class Cost:
    """What a call of the command took."""

    wall: float
    core: float
    memory: float
    """Gigabytes, the peak of all calls so far."""


def analyse(root: Path, out: Path) -> Cost:
    """Run the command."""
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, ROOT / "analysis/make_tables.py", "--runs", root, "--out", out],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    core = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, core, used.ru_maxrss / 1024**2)


def tensorboard(folder: Path) -> float:
    """Return the seconds TensorBoard's own reader needs for one run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    part = ITERATIONS // 10
    writer = SummaryWriter(str(folder), max_queue=10_000, flush_secs=3600)
    for i in range(part):
        for j in range(METRICS):
            writer.add_scalar(f"metric/{j}", 0.5 * i + j, i)
    writer.close()
    began = time.perf_counter()
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    tags = reader.Tags()["scalars"]
    read = sum(len(reader.Scalars(tag)) for tag in tags)
    assert read == part * METRICS, f"read {read} values"
    return 10 * (time.perf_counter() - began)


def archive(place: Path) -> list[bool]:
    """Time the archive, drawn and not drawn, and tell which bounds hold."""
    analyse(STUDY, place / "compiled")  # compiles what Python has not compiled yet
    first, second = [], []
    for i in range(REPEATS):
        first.append(analyse(STUDY, place / f"{i}").core)
        second.append(analyse(STUDY, place / f"{i}").core)
    once, share = min(first), min(second) / min(first)
    print(f"the 43 runs of results/desktop: {once:.1f} s, bound {ONCE:g} s")
    print(f"once more: {share:.2f} of that, bound {AGAIN:g}", flush=True)
    return [once <= ONCE, share <= AGAIN]


def large(place: Path, count: int) -> list[bool]:
    """Time many long runs, and some of them against TensorBoard; tell which bounds hold."""
    write_runs(place / "few", FEW)
    few = analyse(place / "few", place / "out")
    ratio = FEW * tensorboard(place / "events") / few.wall
    print(f"{FEW} long runs: {few.core:.1f} s; TensorBoard reads them in {ratio:.0f} times as long "
          f"(bound {FASTER:g})", flush=True)  # fmt: skip
    write_runs(place / "many", count)
    many = analyse(place / "many", place / "out")
    print(f"{count} long runs: {many.core:.1f} s, bound {MANY:g} s; "
          f"peak memory {many.memory:.2f} GB, bound {MEMORY_GB:g} GB")  # fmt: skip
    return [ratio >= FASTER, many.core <= MANY, many.memory <= MEMORY_GB]


def main() -> int:
    """Print what was measured beside its bounds; 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="size of the large set")
    count = parser.parse_args().runs
    sys.path[0] = str(ROOT)  # this folder has a module `analysis` of its own
    with tempfile.TemporaryDirectory(prefix="s2m-") as name:
        held = archive(Path(name))
        held += large(Path(name), count) if count else []
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
