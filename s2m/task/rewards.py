"""The reward terms of the paper (appendix C.1), one function each, unweighted.

A `Scene` holds what several terms share, computed once per step. Terms of pairs are 0 for one ball,
which has no pairs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from s2m.config import RewardCfg
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
    error = state.linear_velocity[:, :2] - command[:, :2]
    return Scene(
        active=state.ball_active,
        margin=margin,
        minimum_margin=minimum,
        dangerous=minimum < danger,
        outside=(margin < 0) & state.ball_active,
        plate_velocity=plate_velocity(state),
        linear_error=error.norm(dim=-1),
        yaw_error=(state.angular_velocity[:, 2] - command[:, 2]).abs(),
    )


def support_margin(scene: Scene) -> Tensor:
    """r_margin: mean of mu_i, with mu_i in [0, 1]."""
    return geometry.masked_mean(scene.margin.clamp(0, 1), scene.active)


def margin_tail(scene: Scene, share: float) -> Tensor:
    """r_tail: CVaR of the margins."""
    return geometry.tail_mean(scene.margin, scene.active, share)


def edge(scene: Scene) -> Tensor:
    """r_edge: part of the balls with mu_i < 0."""
    return geometry.masked_mean(scene.outside.to(scene.margin.dtype), scene.active)


def spacing(distance: Tensor, joined: Tensor, d_max: float) -> Tensor:
    """r_spacing: mean of min(|p_i - p_j|, d_max) over pairs."""
    return geometry.masked_mean(distance.clamp(max=d_max), joined)


def spacing_tail(distance: Tensor, joined: Tensor, share: float) -> Tensor:
    """r_spacing,tail: CVaR of the pair distances."""
    return geometry.tail_mean(distance, joined, share)


def dangerous(scene: Scene) -> Tensor:
    """r_dangerous: 1 if the smallest margin is below the danger threshold."""
    return scene.dangerous.to(scene.margin.dtype)


def velocity_xy(scene: Scene) -> Tensor:
    """r_vel,xy: mean squared horizontal speed over the plate."""
    return geometry.masked_mean(scene.plate_velocity[..., :2].square().sum(-1), scene.active)


def velocity_z(scene: Scene) -> Tensor:
    """r_vel,z: mean vertical speed over the plate."""
    return geometry.masked_mean(scene.plate_velocity[..., 2].abs(), scene.active)


def track_linear(scene: Scene, width: float) -> Tensor:
    """r_track,v: exp(-|v_xy - v_cmd|^2 / width)."""
    return torch.exp(-scene.linear_error.square() / width)


def track_yaw(scene: Scene, width: float) -> Tensor:
    """r_track,omega: exp(-|omega_z - omega_cmd|^2 / width)."""
    return torch.exp(-scene.yaw_error.square() / width)


def height(state: TransportState, reference: float) -> Tensor:
    """r_height: (h - h_ref)^2."""
    return (state.base_height - reference).square()


def roll_pitch(state: TransportState) -> Tensor:
    """r_roll,pitch: squared roll and pitch, rad^2."""
    return geometry.roll_pitch(state.gravity).square().sum(-1)


def reward_terms(
    state: TransportState, scene: Scene, cfg: RewardCfg, height_reference: float
) -> dict[str, Tensor]:
    """All weighted terms by name, each (n,); their sum times the control dt is the reward."""
    distance, joined = geometry.pair_distances(state.ball_position, scene.active)
    return {
        "margin": cfg.margin * support_margin(scene),
        "tail": cfg.tail * margin_tail(scene, cfg.tail_share),
        "edge": cfg.edge * edge(scene),
        "spacing": cfg.spacing * spacing(distance, joined, cfg.d_max),
        "spacing_tail": cfg.spacing_tail * spacing_tail(distance, joined, cfg.tail_share),
        "dangerous": cfg.dangerous * dangerous(scene),
        "velocity_xy": cfg.velocity_xy * velocity_xy(scene),
        "velocity_z": cfg.velocity_z * velocity_z(scene),
        "track_linear": cfg.track_linear * track_linear(scene, cfg.tracking_width),
        "track_yaw": cfg.track_yaw * track_yaw(scene, cfg.tracking_width),
        "height": cfg.height * height(state, height_reference),
        "roll_pitch": cfg.roll_pitch * roll_pitch(state),
    }
