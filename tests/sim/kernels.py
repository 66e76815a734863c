"""Compile what the tests need of MuJoCo Warp: python -m tests.sim.kernels, before they start.

It takes about a minute of one core with an empty cache (WARP_CACHE_PATH, or ~/.cache/warp) and
seconds with a full one. Processes that find it empty together would compile the same thing each,
and the limit of a test's time counts it.
"""

import fcntl
from pathlib import Path

import torch

from s2m.config.sim import WarpCfg
from s2m.config.task import SpawnCfg
from s2m.robot.model import MAX_BALLS
from s2m.task.spawn import spawn

IMPATIENT = 2
"""A line search too short to solve every step, which tests ask for; it is a constant of kernels."""


def compile_kernels() -> None:
    """Step every number of balls once, one process after the other."""
    import warp as wp

    from s2m.sim.warp import WarpSimulator

    wp.init()
    folder = Path(str(wp.config.kernel_cache_dir))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "s2m-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for line_search in (WarpCfg().line_search, IMPATIENT):
            cfg = WarpCfg(device="cpu", graph=False, line_search=line_search)
            sim = WarpSimulator(cfg, MAX_BALLS, contact_gap=0.0025)
            counts = torch.arange(1, MAX_BALLS + 1)
            sim.reset(torch.arange(MAX_BALLS), spawn(SpawnCfg(), counts, torch.Generator()))
            sim.step(torch.zeros(MAX_BALLS, 12), torch.zeros(MAX_BALLS, 4))
            sim.close()


if __name__ == "__main__":
    compile_kernels()
