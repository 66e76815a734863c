"""How much the actions of a policy change when balls change their slots."""

import torch
from rich.console import Console
from rich.table import Table

from s2m.encoders.registry import encoder_class
from s2m.encoders.symmetry import audit, quotient_ratio
from s2m.env.transport import TransportEnv
from s2m.policy.stored import Trained
from s2m.robot.model import MAX_BALLS
from s2m.task.observations import BALL_FRAMES

STEPS = 50
"""Control steps of the policy before its observations are taken."""
ENVS_PER_LEVEL = 32


def measure(trained: Trained, k: int, samples: int) -> dict[str, float]:
    """Audit the policy on observations of its own episodes with k balls."""
    cfg = trained.environment()
    cfg.num_envs = ENVS_PER_LEVEL
    env = TransportEnv(cfg, balls=torch.full((ENVS_PER_LEVEL,), k))
    agent = trained.agent(env)
    for _ in range(STEPS):
        env.step(agent())
    observed = env.get_observations()
    env.close()

    def act(balls: torch.Tensor) -> torch.Tensor:
        return trained.act(observed.clone(recurse=False).update({"balls": balls}))

    return audit(act, observed["balls"], samples, torch.Generator().manual_seed(k))


def show(run: str, samples: int) -> None:
    """Tabulate the change of the actions under both groups, per number of balls."""
    torch.set_num_threads(1)
    trained = Trained(run)
    name, source = trained.cfg.encoder.name, trained.cfg.encoder.source
    group = encoder_class(name, source).group
    table = Table("k", "G_diag max", "G_diag mean", "G_frame max", "G_frame mean")
    for k in range(1, MAX_BALLS + 1):
        values = measure(trained, k, samples)
        table.add_row(str(k), *(f"{value:.2e}" for value in values.values()))
    console = Console(markup=False)
    console.print(
        f"{trained.folder.path.name}, iteration {trained.checkpoint.iteration}: change of the "
        f"action (12 numbers of order 1) under slot permutations\n{name} is invariant under "
        f"{group} by construction; |G_frame| / |G_diag| = "
        f"{quotient_ratio(BALL_FRAMES, MAX_BALLS):,}"
    )
    console.print(table)
