"""Where balls start: near the best packing of their number."""

from collections.abc import Iterable
from functools import cache

import torch
from torch import Tensor

from s2m.config.task import SpawnCfg
from s2m.console.errors import UserError
from s2m.robot.model import BALL_RADIUS, MAX_BALLS
from s2m.task.constants import constant
from s2m.task.geometry import FAR, HALF_PLATE, packing, pair_distances
from s2m.task.state import Spawn

BANK_SIZE = 4096
MOST_TRIES = 400
"""Batches of BANK_SIZE draws before a spawn is called impossible; the defaults need at most 10."""


SCATTERED = {
    3: [(-0.0655, 0.0525), (0.0655, 0.0525), (-0.0300, -0.0525)],
    4: [(-0.0850, 0.0560), (0.0270, 0.0560), (-0.0850, -0.0560), (0.0850, -0.0560)],
}
"""Centres (m) of balls whose mean is not the middle of their box; 5 balls have no room for it."""


@cache
def placement_bank(k: int, jitter: float, spread: float, gap: float, arrangement: str) -> Tensor:
    """Return BANK_SIZE placements (m) of k balls without overlap, (BANK_SIZE, k, 2), float64.

    Drawn by rejection from a fixed seed: the bank is part of the task, the same in every run.
    """
    generator = torch.Generator().manual_seed(k)
    places = SCATTERED.get(k) if arrangement == "scattered" else None
    base = torch.tensor(places or packing(k), dtype=torch.float64) * spread
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
        placement_bank(k, cfg.jitter[k - 1], cfg.spread, cfg.gap, cfg.arrangement)


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
        settings = (cfg.jitter[k - 1], cfg.spread, cfg.gap, cfg.arrangement)
        bank = _bank(k, *settings, position.dtype, position.device)
        shuffled = order[rows, :k].argsort(-1)
        position[rows, :k] = bank[choice[rows].unsqueeze(-1), shuffled]
    if cfg.shift:
        active = torch.arange(MAX_BALLS, device=device) < count.unsqueeze(-1)
        moved = position + _shift(position, active, cfg.shift * (uniform(2) * 2 - 1)).unsqueeze(1)
        position = torch.where(active.unsqueeze(-1), moved, 0.0)
    return Spawn(count, position, velocity, rotation)


def _shift(position: Tensor, active: Tensor, part: Tensor) -> Tensor:
    """Return shifts (m, 2) of groups by parts (m, 2), -1 to 1, of their way to the plate's edge."""
    on, half = active.unsqueeze(-1), constant(HALF_PLATE, position)
    up = half - position.masked_fill(~on, -FAR).amax(1)
    down = half + position.masked_fill(~on, FAR).amin(1)
    return part * torch.where(part > 0, up, down)


@cache
def _bank(
    k: int, jitter: float, spread: float, gap: float, arrangement: str, dtype: torch.dtype,
    device: torch.device,
) -> Tensor:  # fmt: skip
    return placement_bank(k, jitter, spread, gap, arrangement).to(device, dtype)
