"""The data set of a student at the paper's 1.8 million steps: python benchmarks/distill.py.

Fills it with synthetic steps, then measures disk, memory, how fast batches come from it against how
fast the optimiser takes them (CPU seconds of one thread), and how long a student needs for a step.
"""

import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from s2m.cluster.distill import compose_student
from s2m.config.distill import DistillCfg
from s2m.learning.collection import collections
from s2m.learning.dataset import STEP, DataSet, write_steps
from s2m.learning.imitation import Imitator
from s2m.policy.tactset import VECTOR

EPISODE = 500
BATCHES = 10
MOST_MEMORY = 4e9
LATENCY_MS = 2.0


def fill(cfg: DistillCfg, folder: Path) -> list[Path]:
    """Write the steps of all rounds; one episode in ten fails half way."""
    chance = np.random.default_rng(0)
    paths = []
    for round_ in range(cfg.rounds):
        for what in collections(cfg, round_, EPISODE):
            steps = np.zeros((cfg.num_envs, what.steps), dtype=STEP)
            steps["proprio"] = chance.standard_normal(steps["proprio"].shape, dtype=np.float32)
            steps["label"] = chance.standard_normal(steps["label"].shape, dtype=np.float32)
            steps["map"] = chance.integers(0, 256, steps["map"].shape, dtype=np.uint8)
            steps["first"][:, 0] = True
            steps["first"][::10, what.steps // 2] = True
            paths.append(folder / what.file)
            write_steps(paths[-1], steps)
    return paths


def batch_rate(data: DataSet, size: int) -> float:
    """Return steps per CPU second that come from the data set."""
    batches = data.batches(size, np.random.default_rng(1))[:BATCHES]
    began, steps = time.process_time(), 0
    for batch in batches:
        steps += len(data.assemble(batch).label)
    return steps / (time.process_time() - began)


def update_rate(data: DataSet, cfg: DistillCfg, batches: int) -> float:
    """Return steps per CPU second that the optimiser takes."""
    learner = Imitator(cfg)
    chosen = data.batches(cfg.batch, np.random.default_rng(1))[: batches + 1]
    ready = [data.assemble(batch) for batch in chosen]
    learner.update(ready[0], 0.0)
    began, steps = time.process_time(), 0
    for batch in ready[1:]:
        learner.update(batch, 0.0)
        steps += len(batch.label)
    return steps / (time.process_time() - began)


def latency(cfg: DistillCfg) -> float:
    """Return the median milliseconds of one step of one student."""
    student = Imitator(cfg).student
    vector, tactile, memory = torch.zeros(1, VECTOR), torch.zeros(1, 4, 16, 16), student.memory(1)
    spent = []
    with torch.inference_mode():
        for _ in range(300):
            began = time.process_time()
            _, memory = student.step(vector, tactile, memory)
            spent.append(time.process_time() - began)
    return 1000 * float(np.median(spent))


def main() -> int:
    torch.set_num_threads(1)
    paper, desktop = (compose_student(["teacher=lqr", f"distill={name}"]).distill
                      for name in ("paper", "desktop"))  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        began = time.process_time()
        paths = fill(paper, Path(name))
        print(f"filled in {time.process_time() - began:.0f} CPU s")
        data = DataSet(paths)
        disk = sum(path.stat().st_size for path in paths)
        print(f"{data.steps:,} steps: {disk / 1e6:.0f} MB on disk, {disk / data.steps:.0f} B each")
        ratios = []
        for cfg, batches in ((desktop, 4), (replace(paper, batch=4000), 1)):
            come, taken = batch_rate(data, cfg.batch), update_rate(data, cfg, batches)
            ratios.append(come / taken)
            print(
                f"{cfg.name}: batches come at {come:,.0f} steps/s, the optimiser takes "
                f"{taken:,.0f} steps/s: {ratios[-1]:.0f} times as fast"
            )
        delays = {cfg.name: latency(cfg) for cfg in (desktop, paper)}
        for size, delay in delays.items():
            print(f"{size}: {delay:.2f} ms per step of a student (bound {LATENCY_MS:g} ms)")
    # On Linux in kB. It includes the pages of the files that are mapped.
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak / 1e9:.2f} GB (bound {MOST_MEMORY / 1e9:g} GB)")
    good = peak < MOST_MEMORY and min(ratios) > 1 and max(delays.values()) < LATENCY_MS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
