"""Plate geometry: support margins, pair distances and tail means."""

import itertools
from functools import cache

import torch
from torch import Tensor

from s2m.robot.model import MAX_BALLS, PLATE_SIZE
from s2m.task.constants import constant

HALF_PLATE = (PLATE_SIZE[0] / 2, PLATE_SIZE[1] / 2)
FAR = 1e3
"""Stands for "no ball" where a minimum is taken; larger than any margin or distance."""


def support_margin(position: Tensor) -> Tensor:
    """Distance to the nearest edge over the half size of that axis, (..., >=2) -> (...).

    1 in the centre of the plate, 0 on its edge, negative outside; per axis, as the plate is a box.
    """
    x, y = (position[..., :2] / constant(HALF_PLATE, position)).abs().unbind(-1)
    return 1 - torch.maximum(x, y)


def minimum_margin(margin: Tensor, active: Tensor) -> Tensor:
    """Smallest margin over the active balls, (n, N) -> (n,)."""
    return torch.where(active, margin, FAR).amin(-1)


@cache
def _pairs(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return both indices of all slot pairs i < j and the matrix (10, N) of x_i - x_j."""
    pairs = torch.tensor(list(itertools.combinations(range(MAX_BALLS), 2)), device=device)
    first, second = pairs.T.contiguous()
    one = torch.eye(MAX_BALLS, dtype=dtype, device=device)
    return first, second, one[first] - one[second]


def pair_distances(position: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
    """Distances of all slot pairs on the plate (n, 10) and which of them join two active balls."""
    first, second, minus = _pairs(position.dtype, position.device)
    x, y = minus @ position[..., :2].permute(2, 1, 0)
    joined = active.T.index_select(0, first) & active.T.index_select(0, second)
    return torch.hypot(x, y).T, joined.T


def masked_mean(values: Tensor, mask: Tensor, axis: int = -1) -> Tensor:
    """Mean over an axis where mask holds; 0 where it holds nowhere."""
    return (values * mask).sum(axis) / mask.sum(axis).clamp(min=1)


def tail_mean(values: Tensor, mask: Tensor, share: float) -> Tensor:
    """CVaR_share: mean of the lowest `share` of the masked values, (n, m) -> (n,).

    Exact for finite samples: with n values the tail has weight share * n, of which the last value
    may enter with a fraction. 0 where the mask holds nowhere.
    """
    ordered = torch.where(mask, values, FAR).sort(-1).values
    table = _tail_shares(share, values.shape[-1], values.dtype, values.device)
    return (ordered * table.index_select(1, mask.sum(-1)).T).sum(-1)


@cache
def _tail_shares(share: float, most: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Weights (most, most + 1) of the sorted values in the tail, by how many values there are."""
    weight = share * torch.arange(most + 1, dtype=dtype, device=device)
    rank = torch.arange(most, dtype=dtype, device=device).unsqueeze(-1)
    return (weight - rank).clamp(0, 1) / weight.clamp(min=1e-9)


def tilt(gravity: Tensor) -> Tensor:
    """Roll and pitch in radians from gravity in the base frame, (..., 3) -> (..., 2).

    Right beyond 90 degrees of roll too.
    """
    x, y, z = gravity.unbind(-1)
    return torch.stack([torch.atan2(-y, -z), torch.atan2(x, torch.hypot(y, z))], -1)


def packing(k: int) -> list[tuple[float, float]]:
    """Centres (m) of k balls, 11 cm apart or more, with the largest minimum support margin.

    Computed once by constrained optimisation; a test confirms the margins and that small moves do
    not improve them. The largest minimum margins are 1, 0.593, 0.415, 0.325 and 0.186.
    """
    return {
        1: [(0.0, 0.0)],
        2: [(0.0456, 0.0307), (-0.0456, -0.0307)],
        3: [(-0.0655, 0.0442), (0.0655, 0.0442), (0.0, -0.0442)],
        4: [(-0.0756, 0.0510), (0.0344, 0.0510), (0.0756, -0.0510), (-0.0344, -0.0510)],
        5: [(0.0, 0.0), (0.0912, 0.0615), (0.0912, -0.0615), (-0.0912, 0.0615),
            (-0.0912, -0.0615)],
    }[k]  # fmt: skip
