"""What rewards, promotion criteria and evaluation share of a state, computed once per step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from s2m.task import geometry
from s2m.task.state import TransportState


@dataclass
class Scene:
    """Quantities of one control step that rewards, promotion criteria and evaluation share."""

    active: Tensor
    """(n, N) which slots hold a ball."""
    margin: Tensor
    """(n, N) support margins mu_i."""
    minimum_margin: Tensor
    """(n,) smallest mu_i over the active balls."""
    dangerous: Tensor
    """(n,) bool: the smallest margin is below the level's danger threshold."""
    outside: Tensor
    """(n, N) bool: active balls beyond the plate's edge."""
    plate_velocity: Tensor
    """(n, N, 3) ball velocity in the frame that turns with the plate."""
    linear_error: Tensor
    """(n,) |v_xy - v_cmd|, m/s."""
    yaw_error: Tensor
    """(n,) |omega_z - omega_cmd|, rad/s."""
    tilt: Tensor
    """(n, 2) roll and pitch of the robot, rad."""


def plate_velocity(state: TransportState) -> Tensor:
    """Ball velocities (n, N, 3) in the frame that moves and turns with the plate."""
    turning = torch.linalg.cross(
        state.angular_velocity.unsqueeze(1).expand_as(state.ball_position), state.ball_position
    )
    return state.ball_velocity - turning


def observe(state: TransportState, command: Tensor, danger: Tensor) -> Scene:
    """Derive the shared quantities; `danger` (n,) is each environment's danger threshold."""
    margin = geometry.support_margin(state.ball_position)
    minimum = geometry.minimum_margin(margin, state.ball_active)
    off_x, off_y, _ = (state.linear_velocity - command).unbind(-1)
    return Scene(
        active=state.ball_active,
        margin=margin,
        minimum_margin=minimum,
        dangerous=minimum < danger,
        outside=(margin < 0) & state.ball_active,
        plate_velocity=plate_velocity(state),
        linear_error=torch.hypot(off_x, off_y),
        yaw_error=(state.angular_velocity[:, 2] - command[:, 2]).abs(),
        tilt=geometry.tilt(state.gravity),
    )
