"""Where balls start: near the best packing of their number."""

from collections.abc import Iterable
from functools import cache

import torch
from torch import Tensor

from s2m.config.task import SpawnCfg
from s2m.console.errors import UserError
from s2m.robot.model import BALL_RADIUS, MAX_BALLS
from s2m.task.geometry import FAR, packing, pair_distances
from s2m.task.state import Spawn

BANK_SIZE = 4096
MOST_TRIES = 400
"""Batches of BANK_SIZE draws before a spawn is called impossible; the defaults need at most 10."""


@cache
def placement_bank(k: int, jitter: float, spread: float, gap: float) -> Tensor:
    """Return BANK_SIZE placements (m) of k balls without overlap, (BANK_SIZE, k, 2), float64.

    Drawn by rejection from a fixed seed: the bank is part of the task, the same in every run.
    """
    generator = torch.Generator().manual_seed(k)
    base = torch.tensor(packing(k), dtype=torch.float64) * spread
    found: list[Tensor] = []
    for _ in range(MOST_TRIES):
        mirror = torch.randint(0, 2, (BANK_SIZE, 1, 2), generator=generator) * 2.0 - 1.0
        shift = torch.rand(BANK_SIZE, k, 2, generator=generator, dtype=torch.float64) * 2 - 1
        candidates = base * mirror + shift * jitter
        padded = torch.zeros(BANK_SIZE, MAX_BALLS, 2, dtype=torch.float64)
        padded[:, :k] = candidates
        active = (torch.arange(MAX_BALLS) < k).expand(BANK_SIZE, -1)
        distance, joined = pair_distances(padded, active)
        apart = distance.masked_fill(~joined, FAR).amin(-1) >= 2 * BALL_RADIUS + gap
        found.append(candidates[apart])
        if sum(map(len, found)) >= BANK_SIZE:
            return torch.cat(found)[:BANK_SIZE]
    raise UserError(
        f"task.spawn: cannot place {k} balls {gap} m apart with jitter {jitter} and spread "
        f"{spread}; lower gap or raise spread"
    )


def check_spawn(cfg: SpawnCfg, counts: Iterable[int]) -> None:
    """Raise UserError if some number of balls cannot be placed."""
    for k in counts:
        placement_bank(k, cfg.jitter[k - 1], cfg.spread, cfg.gap)


def spawn(cfg: SpawnCfg, count: Tensor, generator: torch.Generator) -> Spawn:
    """Draw the beginnings of m environments with `count` (m,) balls each.

    Which ball stands where is random, so that a ball's index says nothing about its place. Every
    environment draws the same amount of random numbers whatever its count.
    """
    m, device = len(count), count.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(m, *shape, generator=generator, device=device)

    choice = (uniform() * BANK_SIZE).long().clamp(max=BANK_SIZE - 1)
    order = uniform(MAX_BALLS)
    velocity = (uniform(MAX_BALLS, 2) * 2 - 1) * cfg.speed
    rotation = torch.randn(m, MAX_BALLS, 4, generator=generator, device=device)
    rotation = rotation / rotation.norm(dim=-1, keepdim=True)
    position = torch.zeros(m, MAX_BALLS, 2, device=device)
    counts = set(count.tolist())
    for k in counts:
        rows = slice(None) if len(counts) == 1 else (count == k).nonzero().squeeze(-1)
        bank = _bank(k, cfg.jitter[k - 1], cfg.spread, cfg.gap, position.dtype, position.device)
        shuffled = order[rows, :k].argsort(-1)
        position[rows, :k] = bank[choice[rows].unsqueeze(-1), shuffled]
    return Spawn(count, position, velocity, rotation)


@cache
def _bank(
    k: int, jitter: float, spread: float, gap: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    return placement_bank(k, jitter, spread, gap).to(device, dtype)
