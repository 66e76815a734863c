"""Which settings of MuJoCo matter: each halved and doubled, against steps of 1 ms.

python -m benchmarks.solver [--write] prints the table of docs/task.md. Every variant has the same
starts, commands and actions. `motion` is how far a ball is from where the reference has it after
half a second of exploration (standard deviation 0.3), median and 95 %; then the no-drop rates of
zero action and of the LQR.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import torch

from analysis.docs import replace_section
from s2m.config.env import EnvCfg
from s2m.config.sim import MujocoCfg
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.sim.mujoco import Level, MujocoSimulator

PAGE = Path(__file__).parent.parent / "docs" / "task.md"
BALLS = (1, 3, 5)
ENVS, HALF_SECOND, EXPLORATION = 64, 25, 0.3

Change = Callable[[mujoco.MjModel], None]


def nothing(_: mujoco.MjModel) -> None:
    """Leave the model as it is."""


def scaled(name: str, column: int, factor: float) -> Change:
    def change(model: mujoco.MjModel) -> None:
        getattr(model, name)[:, column] *= factor

    return change


@dataclass
class Variant:
    """Changed settings, or a changed model."""

    name: str
    settings: dict[str, float] = field(default_factory=dict)
    change: Change = nothing


REFERENCE = Variant(
    "1 ms, tolerance 1e-12, 200 iterations",
    {
        "timestep": 0.001,
        "decimation": 20,
        "tolerance": 1e-12,
        "iterations": 200,
        "line_search": 200,
    },
)
VARIANTS = [
    REFERENCE,
    Variant("as it is"),
    Variant("time step 5 ms", {"timestep": 0.005, "decimation": 4}),
    Variant("time step 20 ms", {"timestep": 0.02, "decimation": 1}),
    Variant("tolerance 1e-12", {"tolerance": 1e-12}),
    Variant("tolerance 1e-8", {"tolerance": 1e-8}),
    Variant("tolerance 1e-6 (until 0.1.0)", {"tolerance": 1e-6}),
    Variant("iterations 25", {"iterations": 25}),
    Variant("iterations 100", {"iterations": 100}),
    Variant("line search 20 (until 0.1.0)", {"line_search": 20}),
    Variant("line search 25", {"line_search": 25}),
    Variant("line search 100", {"line_search": 100}),
    Variant("impratio 15", {"impratio": 15.0}),
    Variant("impratio 60", {"impratio": 60.0}),
    Variant("contact time 10 ms", change=scaled("pair_solref", 0, 0.5)),
    Variant("contact time 40 ms", change=scaled("pair_solref", 0, 2.0)),
    Variant("contact width 0.5 mm", change=scaled("pair_solimp", 2, 0.5)),
    Variant("contact width 2 mm", change=scaled("pair_solimp", 2, 2.0)),
    Variant("rolling friction 0.4 mm", change=scaled("pair_friction", 3, 0.5)),
    Variant("rolling friction 1.6 mm", change=scaled("pair_friction", 3, 2.0)),
]


class Varied(MujocoSimulator):
    """MuJoCo with a changed model."""

    change: Change = staticmethod(nothing)

    def _compile(self, k: int) -> Level:
        level = super()._compile(k)
        self.change(level.model)
        return level


def make(variant: Variant, k: int) -> TransportEnv:
    cfg = MujocoCfg(**variant.settings)  # pyright: ignore[reportArgumentType]
    sim = Varied(cfg, ENVS, EnvCfg().task.contact_gap)
    sim.change = variant.change
    return TransportEnv(
        EnvCfg(num_envs=ENVS, sim=cfg, seed=7), balls=torch.full((ENVS,), k), simulator=sim
    )


def moved(variant: Variant, k: int) -> torch.Tensor:
    """Return where the balls are after half a second of the same actions, (n, k, 2)."""
    env, generator = make(variant, k), torch.Generator().manual_seed(k)
    for _ in range(HALF_SECOND):
        env.step(EXPLORATION * torch.randn(ENVS, 12, generator=generator))
    return env.state.ball_position[:, :k, :2]


def kept(variant: Variant, k: int, agent: str) -> float:
    """Return the part of the episodes in which no ball was lost."""
    env = make(variant, k)
    act, alive = AGENTS[agent](env), torch.ones(ENVS, dtype=torch.bool)
    for _ in range(env.max_episode_length):
        env.step(act())
        alive &= ~env.outcome.terminated
    return alive.float().mean().item()


def rows(variants: list[Variant]) -> list[list[str]]:
    truth = {k: moved(REFERENCE, k) for k in BALLS}
    found = []
    for variant in variants:
        cells = [variant.name]
        for k in BALLS:
            gap = 1e3 * (moved(variant, k) - truth[k]).norm(dim=-1).flatten().numpy()
            middle, most = np.quantile(gap, [0.5, 0.95])
            cells.append(f"{middle:.2g} / {most:.2g}")
        for agent in ("zero", "lqr"):
            cells.append(" ".join(f"{100 * kept(variant, k, agent):.0f}" for k in BALLS))
        found.append(cells)
        print(" | ".join(cells), flush=True)
    return found


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solver", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/task.md")
    options = parser.parse_args(words)
    torch.set_num_threads(1)
    head = [
        "setting", *(f"motion k={k}, mm" for k in BALLS), "zero, no-drop %, k=1 3 5",
        "lqr, no-drop %, k=1 3 5",
    ]  # fmt: skip
    lines = [head, ["---"] * len(head), *rows(VARIANTS)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if options.write:
        replace_section(PAGE, "solver", table)


if __name__ == "__main__":
    main(sys.argv[1:])
