"""How long tables and figures take, against reading TensorBoard files of the same runs.

python benchmarks/analysis.py [--runs 1000] writes synthetic runs of 30,000 iterations and 30
metrics and times the whole command `python analysis/make_tables.py` on 40 of them and on all, with
its peak memory. The runs of a larger set share 40 files of metrics through hard links. TensorBoard
reads one run of a tenth of the length; its time is scaled up linearly. All files are in the page
cache.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow

ROOT = Path(__file__).resolve().parents[1]
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


def analyse(root: Path, out: Path) -> tuple[str, float, float]:
    """Run the command; return its time in words, seconds, and gigabytes (peak of all calls)."""
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, ROOT / "analysis/make_tables.py", "--runs", root, "--out", out],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    core = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    said = f"{seconds:.1f} s ({core:.1f} s of one core)"
    return said, seconds, used.ru_maxrss / 1024**2


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


def main() -> None:
    """Print seconds, memory and ratios with their bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="size of the large set")
    many = parser.parse_args().runs
    sys.path[0] = str(ROOT)  # this folder has a module `analysis` of its own
    with tempfile.TemporaryDirectory(prefix="s2m-") as name:
        place = Path(name)
        write_runs(place / "few", FEW)
        analyse(place / "few", place / "out")  # compiles what Python has not compiled yet
        said, few, _ = analyse(place / "few", place / "out")
        slow = FEW * tensorboard(place / "events")
        print(f"{FEW} runs: {said}, bound 10 s")
        print(
            f"TensorBoard reads them in {slow:.0f} s: {slow / few:.0f} times as long (bound 20)",
            flush=True,
        )
        write_runs(place / "many", many)
        said, _, memory = analyse(place / "many", place / "out")
        print(f"{many} runs: {said}, bound 60 s; peak memory {memory:.2f} GB, bound 1.5 GB")


if __name__ == "__main__":
    main()
