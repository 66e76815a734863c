"""When an episode ends other than by its time-out (paper, appendix C.3)."""

import math

from torch import Tensor

from s2m.config.task import TaskCfg
from s2m.task.state import TransportState


def ball_dropped(state: TransportState) -> Tensor:
    """Any active ball's centre is lower than the base origin, (n,) bool."""
    height = -(state.gravity.unsqueeze(1) * state.ball_position).sum(-1)
    return ((height < 0) & state.ball_active).any(-1)


def robot_fell(state: TransportState, tilt: Tensor, cfg: TaskCfg) -> Tensor:
    """The base is too low or rolled too far, (n,) bool; tilt (n, 2) is its roll and pitch."""
    rolled = tilt[:, 0].abs() > math.radians(cfg.max_roll)
    return rolled | (state.base_height.squeeze(-1) < cfg.min_height)
