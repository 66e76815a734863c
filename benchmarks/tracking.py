"""What the mirror on W&B costs, beside a PPO iteration of the desktop budget.

python -m benchmarks.tracking prints, for runs with tracking disabled, offline and online, what it
adds to the training process and to all processes together, per iteration and as a share of one; the
bound is 2 %. For comparison: the client in the training process with one call per iteration, and
rsl-rl's own writer, both offline. Online is a stand-in server on the loopback, in a process of its
own that is not counted. CPU seconds throughout, as other work on the machine counts little in them;
beside them the wall clock that the training process waits. Start and end of the mirror are spread
over the iterations of a run.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import RunLock
from s2m.run.status import FINISHED
from s2m.tracking.mirror import Mirror
from tests.tracking.standin.server import KEY

ROWS, PACE_SECONDS = 120, 0.5
"""Iterations that are mirrored, and their pace: that of desktop runs on an idle machine."""
CALLS = 300
"""Iterations logged with the client inside the process, which needs no pace."""
METRICS = 45
BOUND = 0.02


@dataclass
class Cost:
    """Seconds over a whole run of the desktop budget."""

    trainer: float
    """CPU of the training process."""
    others: float
    """CPU of the processes it started."""
    waited: float
    """Wall clock of the training process."""


class Tree:
    """The CPU seconds of all descendants, those that have ended included."""

    without = 0
    """The server, which is not counted."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def look(self) -> float:
        for process in psutil.Process().children(recursive=True):
            if process.pid == self.without:
                continue
            with suppress(psutil.Error):
                spent = process.cpu_times()
                self.seconds[process.pid] = spent.user + spent.system
        return sum(self.seconds.values())


def iteration_seconds() -> float:
    """Return the CPU seconds of a desktop iteration, the best of some."""
    import torch

    from s2m.env.transport import TransportEnv
    from s2m.learning.ppo import Learner

    cfg = load(RunCfg, ["curriculum.start=3", "curriculum.stop=3"])
    torch.set_num_threads(1)
    learner = Learner(cfg, TransportEnv(cfg.environment()))
    best = float("inf")
    for _ in range(5):
        began = time.thread_time()
        learner.collect()
        learner.update(spent=0.5)
        best = min(best, time.thread_time() - began)
    return best


def row() -> dict[str, float]:
    names = ["curriculum/level", "time/iteration", *(f"metric/{i}" for i in range(METRICS - 2))]
    return {name: 1 + random.random() for name in names}


def mirrored(root: Path, mode: str, iterations: int) -> Cost:
    """Append rows as training does, beside a mirror, and return what the mirror adds."""
    cfg = asdict(load(RunCfg, [f"tracking={mode}", "tracking.finish_seconds=120"]))
    folder = RunFolder.create(root / mode / "run", cfg)
    tree, own, waited = Tree(), 0.0, 0.0

    def timed(work: Callable[[], object]) -> None:
        nonlocal own, waited
        cpu, wall = time.thread_time(), time.perf_counter()
        work()
        own += time.thread_time() - cpu
        waited += time.perf_counter() - wall

    mirror = Mirror(folder, lambda text: print(f"  {text}", file=sys.stderr))
    with RunLock.acquire(folder) as lock:
        timed(lambda: mirror.start(lock.attempt.number))
        edges, journal = own, Journal(folder)
        started = _settle(tree, mode)
        for i in range(1, ROWS + 1):
            journal.append(i, row())
            timed(mirror.check)
            time.sleep(PACE_SECONDS if mode == "online" else 0)
        journal.close()
    steady = tree.look() - started
    checks, before = own - edges, tree.look()
    mirror.outcome = FINISHED
    own = 0.0
    timed(lambda: mirror.__exit__(None, None, None))
    ended = max(0.0, tree.look() - before)
    scale = iterations / ROWS
    return Cost(edges + own + checks * scale, started + ended + steady * scale, waited)


def _settle(tree: Tree, mode: str) -> float:
    """Wait until the client has started, and return the CPU it took."""
    seen = -1.0
    while mode == "online" and (tree.look() < 0.5 or tree.look() - seen > 0.02):
        seen = tree.look()
        time.sleep(2.0)
    return tree.look()


def inside(log: Callable[[int, dict[str, float]], object], iterations: int) -> Cost:
    """Return what a client in the training process adds, per call, to a whole run."""
    tree = Tree()
    for i in range(20):
        log(i, row())
    cpu, wall, before = time.process_time(), time.perf_counter(), tree.look()
    for i in range(20, 20 + CALLS):
        log(i, row())
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    scale = iterations / CALLS
    return Cost(cpu * scale, (tree.look() - before) * scale, wall * scale)


def rsl_rl_writer(root: Path) -> Callable[[int, dict[str, float]], None]:
    from rsl_rl.utils.wandb_log_writer import WandbLogWriter

    writer = WandbLogWriter(str(root / "rsl"), "benchmark")

    def log(iteration: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, iteration)

    return log


def plain_client(root: Path) -> Callable[[int, dict[str, float]], None]:
    import wandb

    run = wandb.init(project="benchmark", dir=str(root), reinit="create_new")
    return lambda iteration, values: run.log({"iteration": iteration, **values})


def main() -> None:
    os.environ["WANDB_SILENT"] = "true"
    iterations = load(RunCfg, []).budget.iterations
    one = iteration_seconds()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.tracking.standin"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    Tree.without = server.pid
    assert server.stdout is not None
    os.environ |= {"WANDB_BASE_URL": server.stdout.readline().strip(), "WANDB_API_KEY": KEY}
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    table = Table("", "training process, ms", "all processes, ms", "share, CPU", "waits, share")

    def show(name: str, cost: Cost) -> None:
        both = cost.trainer + cost.others
        spent = [1000 * value / iterations for value in (cost.trainer, both)]
        shares = [value / iterations / one for value in (both, cost.waited)]
        table.add_row(name, *(f"{v:.3f}" for v in spent), *(f"{100 * v:.2f} %" for v in shares))

    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            root = Path(name)
            for mode in ("disabled", "offline", "online"):
                show(f"tracking={mode}", mirrored(root, mode, iterations))
            os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": name}
            show("rsl-rl's own writer", inside(rsl_rl_writer(root), iterations))
            show("wandb.log in the training process", inside(plain_client(root), iterations))
    finally:
        server.kill()
    console = Console(width=120)
    console.print(f"desktop iteration: {1000 * one:.0f} ms of CPU, {iterations} per run")
    console.print(table, f"bound for tracking=*: {100 * BOUND:g} % of an iteration")
    os._exit(0)  # the client's own clean-up would look for a server that is gone


if __name__ == "__main__":
    main()
