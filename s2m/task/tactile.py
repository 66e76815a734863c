"""The 16 x 16 Boolean union contact map of the back plate (paper, equation tac)."""

from functools import cache

import torch
from torch import Tensor

from s2m.config.task import TactileCfg
from s2m.robot.model import BALL_RADIUS, PLATE_SIZE

CELLS = 16


@cache
def cell_centres(axis: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Coordinates (16,) of the cell centres along the plate's x (0) or y (1) axis, m."""
    index = torch.arange(CELLS, device=device, dtype=dtype)
    return ((index + 0.5) / CELLS - 0.5) * PLATE_SIZE[axis]


def contact_map(position: Tensor, active: Tensor, cfg: TactileCfg, plate_height: float) -> Tensor:
    """Union of the footprints of the active balls, (n, N, 3), (n, N) -> (n, 16, 16) bool.

    `position` is in the base frame; rows of the map run along x (rear to front), columns along y
    (right to left). The union does not depend on the order of the balls.
    """
    touching = (position[..., 2] - plate_height - BALL_RADIUS).abs() < cfg.epsilon_z
    in_x = _near(position[..., 0], BALL_RADIUS + cfg.delta_x, 0)
    in_y = _near(position[..., 1], BALL_RADIUS + cfg.delta_y, 1)
    footprint = (in_x & (touching & active).unsqueeze(-1)).unsqueeze(-1) & in_y.unsqueeze(-2)
    return footprint.any(1)


def _near(coordinate: Tensor, reach: float, axis: int) -> Tensor:
    centres = cell_centres(axis, coordinate.device, coordinate.dtype)
    return (coordinate.unsqueeze(-1) - centres).abs() < reach
