"""MuJoCo Warp (on the CPU) against MuJoCo in C: python -m benchmarks.warp [--write] [PART ...].

Parts: paths (the same start and agent, each engine in its own closed loop), episodes (success of
reference agents, paired by seed), policy (a trained one, judged by both) and training (two runs
from one seed). --write puts what was printed into docs/gpu.md. One thread; 20 minutes or less.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import fisher_exact

from analysis.docs import replace_section
from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.sim import MujocoCfg, MujocoPhysicsCfg, WarpCfg
from s2m.config.task import TaskCfg
from s2m.env.agents import AGENTS, Agent
from s2m.env.episodes import run_episodes
from s2m.env.transport import TransportEnv
from s2m.policy.stored import Trained
from s2m.robot.model import MAX_BALLS
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.rates import Count, wilson
from s2m.stages.execute import execute

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gpu.md"
POLICY = ROOT / "results" / "desktop" / "encoders" / "pfds-s40-01e39876"
WARP = WarpCfg(device="cpu")
ENGINES: dict[str, MujocoPhysicsCfg] = {"C": WARP.same_physics(MujocoCfg), "Warp": WARP}
LEVELS = range(1, MAX_BALLS + 1)
STEPS = 500
PATHS = 16
"""Environments whose paths are compared, per agent and number of balls."""
EPISODES = 64
LEARNING = 60
"""Iterations of the desktop budget that both learn."""

Lines = Iterator[str]


def table(*names: str) -> Lines:
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def paths() -> Lines:
    yield f"Distance of the balls in mm on {PATHS} paths of {STEPS} control steps, each engine in"
    yield "its own closed loop, while both are alive: of balls on the plate, and of those that have"
    yield "just rolled over its edge. Unsolved: share of the steps in which Warp met a cap."
    yield ""
    yield from table(
        "agent", "k", "alive at the end (C, Warp)", "median", "99.9 %", "largest", "over the edge",
        "unsolved",
    )  # fmt: skip
    for agent in ("zero", "lqr"):
        for k in LEVELS:
            (here, _), (there, capped) = (closed_loop(cfg, agent, k) for cfg in ENGINES.values())
            inside, beyond = [], [torch.zeros(1)]
            for step, other in zip(here, there, strict=True):
                apart = 1000 * (step.place - other.place)[:, :k].norm(dim=-1)
                both = (step.alive & other.alive).unsqueeze(-1)
                touching = (step.contact & other.contact)[:, :k]
                inside.append(apart[both & touching])
                beyond.append(apart[both & ~touching])
            distances, fallen = torch.cat(inside), torch.cat(beyond)
            living = f"{int(here[-1].alive.sum())}, {int(there[-1].alive.sum())}"
            rare = np.quantile(distances, 0.999)
            yield row(
                agent, k, living, f"{distances.median():.5f}", f"{rare:.4f}",
                f"{distances.max():.4f}", f"{fallen.max():.3f}" if len(fallen) > 1 else "-",
                f"{capped:.4f}",
            )  # fmt: skip


class Seen(NamedTuple):
    """The balls after a step, and which environments have not failed yet."""

    place: torch.Tensor
    contact: torch.Tensor
    alive: torch.Tensor


def closed_loop(
    cfg: MujocoPhysicsCfg, agent: str, k: int, steps: int = STEPS, paths: int = PATHS
) -> tuple[list[Seen], float]:
    """Return what is seen after every step, and the share of steps that were not solved."""
    task = TaskCfg(episode_steps=steps + 1)
    env = TransportEnv(
        EnvCfg(num_envs=paths, seed=7, sim=cfg, task=task),
        balls=torch.full((paths,), k),
        once=True,
    )
    act, alive = AGENTS[agent](env), torch.ones(paths, dtype=torch.bool)
    seen, unsolved = [], 0.0
    for _ in range(steps):
        env.step(act())
        alive = alive & ~env.outcome.terminated
        if env.sim.unsolved is not None:
            unsolved += env.sim.unsolved.item() / steps
        seen.append(Seen(env.state.ball_position.double(), env.state.ball_contact, alive))
    env.close()
    return seen, unsolved


def _judge(make: Callable[[TransportEnv], Agent], base: EnvCfg, who: str) -> Lines:
    rows, seconds = {}, {}
    for engine, cfg in ENGINES.items():
        start = time.process_time()
        rows[engine] = run_episodes(replace(base, sim=cfg), make, list(LEVELS), EPISODES)
        seconds[engine] = time.process_time() - start
    for k in LEVELS:
        won = {
            engine: [bool(r["no_drop"]) for r in episodes if r["k"] == k]
            for engine, episodes in rows.items()
        }
        counts = {engine: Count(sum(results), len(results)) for engine, results in won.items()}
        told = []
        for count in counts.values():
            low, high = wilson(count)
            told.append(f"{count.hits} [{100 * low:.0f}, {100 * high:.0f}]")
        square = [[count.hits, count.n - count.hits] for count in counts.values()]
        p = float(fisher_exact(square)[1])  # pyright: ignore[reportArgumentType]
        same = sum(a == b for a, b in zip(won["C"], won["Warp"], strict=True))
        yield row(who, k, *told, f"{p:.2f}", f"{same} of {EPISODES}")
    print(f"CPU seconds, {who}:", {name: round(value) for name, value in seconds.items()})


def episodes() -> Lines:
    yield f"Successes (no drop) of {EPISODES} episodes, 95 % Wilson intervals in %:"
    yield ""
    yield from table("agent", "k", "C", "Warp", "Fisher p", "same outcome")
    for agent in ("zero", "lqr"):
        yield from _judge(AGENTS[agent], EnvCfg(seed=1000), agent)


def policy() -> Lines:
    """Judge a policy that was trained on MuJoCo in C."""
    trained = Trained(POLICY)
    base = replace(trained.cfg.environment(), seed=1000)
    yield from _judge(trained.agent, base, POLICY.name.rpartition("-")[0])


def training() -> Lines:
    yield from _same_draws()
    yield ""
    yield "Iteration of each promotion, budget=demo, seed 40:"
    yield ""
    levels = range(2, MAX_BALLS + 1)
    yield from table("engine", *(f"to {k}" for k in levels))
    for engine, cfg in ENGINES.items():
        folder, _ = _train(cfg, ["budget=demo"])
        arrived = {
            event["level"]: event["iteration"]
            for event in Events(folder).read()
            if event["kind"] == "level"
        }
        yield row(engine, *(arrived.get(k, "-") for k in levels))
    yield ""
    yield f"Mean reward per step, budget=desktop, first {LEARNING} iterations, seed 40:"
    yield ""
    marks = range(10, LEARNING + 1, 10)
    yield from table("engine", *(f"{mark - 9}-{mark}" for mark in marks))
    for engine, cfg in ENGINES.items():
        _, rewards = _train(cfg, ["budget=desktop", f"budget.iterations={LEARNING}"])
        means = [sum(rewards[mark - 10 : mark]) / 10 for mark in marks]
        yield row(engine, *(f"{mean:.4f}" for mean in means))


def _train(cfg: MujocoPhysicsCfg, words: list[str]) -> tuple[RunFolder, list[float]]:
    run = replace(load(RunCfg, words), sim=cfg)
    folder = RunFolder.create(Path(tempfile.mkdtemp(prefix="s2m-")) / "run", asdict(run))
    execute(folder, last="train")
    journal = Journal(folder)
    rows = journal.tail(run.budget.iterations)
    journal.close()
    return folder, [values["reward/mean"] for _, values in rows]


def _same_draws() -> Lines:
    """Compare what one seed draws in both, as long as nothing has ended."""
    n, steps = 48, 40
    envs = [TransportEnv(EnvCfg(num_envs=n, seed=40, sim=cfg)) for cfg in ENGINES.values()]
    generator, largest, equal = torch.Generator().manual_seed(0), 0.0, True
    for _ in range(steps):
        actions = 0.3 * torch.randn(n, 12, generator=generator)
        seen = [env.step(actions)[0] for env in envs]
        equal &= torch.equal(envs[0].commands.target, envs[1].commands.target)
        equal &= torch.equal(envs[0].episode_length_buf, envs[1].episode_length_buf)
        for name, value in seen[0].items():
            largest = max(largest, (value - seen[1][name]).abs().max().item())
    for env in envs:
        env.close()
    yield (
        f"From one seed, {n} environments, {steps} steps of the same random actions: commands and "
        f"clocks {'equal' if equal else 'DIFFERENT'}; the noisy observations differ by "
        f"{largest:.1e} at most."
    )


PARTS = {"paths": paths, "episodes": episodes, "policy": policy, "training": training}


def main(words: list[str]) -> None:
    torch.set_num_threads(1)
    chosen = [word for word in words if word in PARTS] or list(PARTS)
    told: list[str] = []
    for part in chosen:
        start = time.time()
        if told and part != "policy":  # which goes on with the table of the agents
            told.append("")
        for line in PARTS[part]():
            print(line, flush=True)
            told.append(line)
        print(f"{part}: {time.time() - start:.0f} s", flush=True)
    if "--write" in words:
        replace_section(PAGE, "warp", "\n".join(told))


if __name__ == "__main__":
    main(sys.argv[1:])
