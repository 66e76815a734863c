"""Statistics of the balls per frame, slot and feature, as rsl-rl keeps them of flat observations.

They are a switch for a question (docs/why.md), not a remedy: a slot that was never active has mean
and deviation 0, so that its first ball is divided by rsl-rl's epsilon, 0.01. Statistics that run on
recover from that; those that are frozen before do not, and no encoder is invariant behind them.
"""

import torch
from torch import Tensor, nn

from s2m.config.run import FIXED, FROZEN, RunCfg
from s2m.env.rsl import EmpiricalNormalization

FREEZES = 1e8 / (30_000 * 4096 * 24)
"""The part of the paper's samples after which the runners of rsl-rl 2 and 3.0 freeze theirs."""


class SlotStatistics(nn.Module):
    """Normalises scaled balls (B, H, N, d) but for their last feature, the activity."""

    def __init__(self, shape: tuple[int, int, int], until: int | None) -> None:
        """Begin with nothing seen; `until` is the number of samples after which they freeze."""
        super().__init__()
        frames, slots, features = shape
        self.seen = EmpiricalNormalization((frames, slots, features - 1), until=until)

    def forward(self, balls: Tensor) -> Tensor:
        """Return the balls in units of their slot's deviation."""
        return torch.cat([self.seen(balls[..., :-1]), balls[..., -1:]], -1)

    def update(self, balls: Tensor) -> None:
        """Take up a batch of samples."""
        self.seen.update(balls[..., :-1])


def make_statistics(cfg: RunCfg, shape: tuple[int, int, int]) -> SlotStatistics | None:
    """Return the statistics that a run keeps of its balls, if it keeps any."""
    if cfg.normalise == FIXED:
        return None
    samples = cfg.budget.iterations * cfg.budget.num_envs * cfg.budget.steps
    return SlotStatistics(shape, round(FREEZES * samples) if cfg.normalise == FROZEN else None)
