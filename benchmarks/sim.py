"""Speed of the environment beside the raw engine, a Python loop and MuJoCo Warp on the CPU.

python benchmarks/sim.py [--threads N] prints control steps per second and the ratios that
docs/task.md quotes. All contenders run the same episodes: the environment's states and controls are
recorded in mid-flight and replayed. Rounds alternate in one process; the best round counts.
"""

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco import rollout
from numpy_env import NumpyEnv
from rich.console import Console
from rich.table import Table

from s2m.config.env import EnvCfg
from s2m.config.sim import MujocoCfg
from s2m.env.transport import TransportEnv
from s2m.robot.mjcf import mjcf
from s2m.robot.model import ROBOT
from s2m.sim.mujoco import MujocoSimulator

ROUNDS, WARM_UP, WINDOW = 3, 60, 20
LOOP_ENVS = 128
"""Robots in the Python loop, whose speed does not depend on their number."""


class Episodes:
    """An environment in mid-flight and what its engine was asked to do in a window of steps."""

    def __init__(self, n: int, k: int, noise: float, threads: int) -> None:
        cfg = EnvCfg(num_envs=n, sim=MujocoCfg(threads=threads))
        self.env = TransportEnv(cfg, balls=torch.full((n,), k))
        self.sim: MujocoSimulator = self.env.sim  # pyright: ignore[reportAttributeAccessIssue]
        self.level = self.sim.level(k)
        generator = torch.Generator().manual_seed(0)
        self.actions = noise * torch.randn(WINDOW, n, 12, generator=generator)
        for step in range(WARM_UP):
            self.env.step(self.actions[step % WINDOW])
        self.saved = self.env.state_dict()
        self.start, self.controls, self.whole = self._record()

    def _record(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        calls: list[tuple[np.ndarray, np.ndarray]] = []
        ended = np.zeros(self.env.num_envs, dtype=bool)
        inner = self.sim.pool.rollout

        def recording(model: Any, datas: Any, start: Any, control: Any, **rest: Any) -> Any:
            calls.append((start.copy(), control.copy()))
            return inner(model, datas, start, control, **rest)

        self.sim.pool.rollout = recording
        for actions in self.actions:
            _, _, done, _ = self.env.step(actions)
            ended |= done.bool().numpy()
        self.sim.pool.rollout = inner
        controls = np.concatenate([control for _, control in calls], 1)
        return calls[0][0], controls, np.flatnonzero(~ended)

    def step_all(self) -> int:
        """Step the whole environment through the window."""
        for actions in self.actions:
            self.env.step(actions)
        return self.env.num_envs * WINDOW

    def rewind(self) -> None:
        """Go back to the beginning of the window."""
        self.env.load_state_dict(self.saved)

    def physics_seconds(self) -> tuple[float, float]:
        """Return the time of a window and the part of it spent in the engine."""
        spent, inner = 0.0, self.sim.pool.rollout

        def timed(*args: Any, **rest: Any) -> Any:
            nonlocal spent
            began = time.perf_counter()
            result = inner(*args, **rest)
            spent += time.perf_counter() - began
            return result

        self.rewind()
        self.sim.pool.rollout = timed
        began = time.perf_counter()
        self.step_all()
        total = time.perf_counter() - began
        self.sim.pool.rollout = inner
        return total, spent


@dataclass
class Case:
    """One contender: `run` returns how many control steps it made."""

    name: str
    run: Callable[[], int]
    prepare: Callable[[], None] = lambda: None
    best: float = 0.0

    def round(self) -> None:
        self.prepare()
        began = time.perf_counter()
        steps = self.run()
        self.best = max(self.best, steps / (time.perf_counter() - began))


def raw(episodes: Episodes, threads: int) -> Case:
    """mj_step in one C call per environment for the whole window: the bound of any design."""
    rows, level = episodes.whole, episodes.level
    start = np.ascontiguousarray(episodes.start[rows])
    controls = np.ascontiguousarray(episodes.controls[rows])
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def run() -> int:
        pool.rollout(level.model, level.datas, start, controls, nstep=controls.shape[1])
        return len(rows) * WINDOW

    return Case("raw mj_step", run)


def python_loop(episodes: Episodes, k: int) -> Case:
    """One robot after the other, each with a plain NumPy environment around mj_step."""
    rows, decimation = episodes.whole[:LOOP_ENVS], episodes.env.cfg.sim.decimation
    command, action = np.zeros(3), np.zeros(12)
    envs: list[NumpyEnv] = []

    def prepare() -> None:
        model = episodes.level.model
        envs[:] = [NumpyEnv(model, k, episodes.start[row], int(row)) for row in rows]

    def run() -> int:
        for step in range(0, WINDOW * decimation, decimation):
            for env, row in zip(envs, rows, strict=True):
                env.step(episodes.controls[row, step : step + decimation], command, action)
        return len(rows) * WINDOW

    return Case("Python loop", run, prepare)


def warp(episodes: Episodes, k: int) -> Case | None:
    """MuJoCo Warp on the CPU, one thread, with its nearest settings; it has no `discrete`."""
    if importlib.util.find_spec("mujoco_warp") is None:
        return None
    mujoco_warp: Any = importlib.import_module("mujoco_warp")
    wp: Any = importlib.import_module("warp")
    wp.config.quiet = True
    cfg = MujocoCfg(timestep=0.005, decimation=4, integrator="implicitfast")
    xml = mjcf(ROBOT, k, cfg).replace("sparse", "auto").replace(' autoreset="disable"', "")
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    n, window = 256, 2
    data.qpos[:] = episodes.start[0, 1 : 1 + model.nq]
    data.ctrl[:] = episodes.controls[0, 0]
    mujoco.mj_forward(model, data)
    with wp.ScopedDevice("cpu"):
        m = mujoco_warp.put_model(model)
        d = mujoco_warp.put_data(model, data, nworld=n, nconmax=40, njmax=200)

    def run() -> int:
        with wp.ScopedDevice("cpu"):
            for _ in range(window * cfg.decimation):
                mujoco_warp.step(m, d)
        return n * window

    run()
    return Case("mujoco_warp CPU, 256", run)


def measure(table: Table, k: int, noise: float, threads: int) -> None:
    """Add the rows of one number of balls and one noise level."""
    small, large = (Episodes(n, k, noise, threads) for n in (256, 1024))
    bound = raw(large, threads)
    cases = [
        Case("env 256", small.step_all, small.rewind),
        Case("env 1024", large.step_all, large.rewind),
        bound,
        python_loop(large, k),
    ]
    peer = warp(large, k) if k == 5 and noise == 0 else None
    for _ in range(ROUNDS):
        for case in [*cases, *([peer] if peer else [])]:
            case.round()
    outside = {}
    for case, episodes in zip(cases, (small, large), strict=False):
        total, physics = episodes.physics_seconds()
        outside[case.name] = f"{1 - physics / total:.0%}"
    for case in [*cases, *([peer] if peer else [])]:
        table.add_row(
            str(k), f"{noise:g}", case.name, f"{case.best:,.0f}",
            f"{case.best / bound.best:.2f}", outside.get(case.name, ""),
        )  # fmt: skip
    small.env.close()
    large.env.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("k", "noise", "what", "control steps/s", "of raw", "outside physics")
    for k in (1, 3, 5):
        for noise in (0.0, 0.3):
            measure(table, k, noise, options.threads)
    Console(width=100).print(f"{options.threads} thread(s), best of {ROUNDS} rounds", table)


if __name__ == "__main__":
    main()
