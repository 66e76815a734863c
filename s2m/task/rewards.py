"""The reward terms of the paper (appendix C.1), one function each, unweighted.

Terms of pairs are 0 for one ball, which has no pairs.
"""

import torch
from torch import Tensor

from s2m.config.task import RewardCfg
from s2m.task import geometry
from s2m.task.constants import constant
from s2m.task.scene import Scene
from s2m.task.state import TransportState

TERMS = (
    "margin", "edge", "velocity_xy", "velocity_z", "tail", "spacing", "spacing_tail", "dangerous",
    "track_linear", "track_yaw", "height", "roll_pitch",
)  # fmt: skip
"""The terms by the names of their weights: means over the balls first."""


def margin(scene: Scene) -> Tensor:
    """r_margin, mean over balls: mu_i within [0, 1]."""
    return scene.margin.clamp(0, 1)


def tail(scene: Scene, share: float) -> Tensor:
    """r_tail: CVaR of the margins."""
    return geometry.tail_mean(scene.margin, scene.active, share)


def edge(scene: Scene) -> Tensor:
    """r_edge, mean over balls: 1 if mu_i < 0."""
    return scene.outside.to(scene.margin.dtype)


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
    """r_vel,xy, mean over balls: squared horizontal speed over the plate."""
    x, y, _ = scene.plate_velocity.square().unbind(-1)
    return x + y


def velocity_z(scene: Scene) -> Tensor:
    """r_vel,z, mean over balls: vertical speed over the plate."""
    return scene.plate_velocity[..., 2].abs()


def track_linear(scene: Scene, width: float) -> Tensor:
    """r_track,v: exp(-|v_xy - v_cmd|^2 / width)."""
    return torch.exp(scene.linear_error.square() * (-1 / width))


def track_yaw(scene: Scene, width: float) -> Tensor:
    """r_track,omega: exp(-|omega_z - omega_cmd|^2 / width)."""
    return torch.exp(scene.yaw_error.square() * (-1 / width))


def height(state: TransportState, reference: float) -> Tensor:
    """r_height: (h - h_ref)^2."""
    return (state.base_height.squeeze(-1) - reference).square()


def roll_pitch(scene: Scene) -> Tensor:
    """r_roll,pitch: squared roll and pitch, rad^2."""
    return scene.tilt.square().sum(-1)


def reward_terms(
    state: TransportState, scene: Scene, cfg: RewardCfg, height_reference: float
) -> Tensor:
    """All weighted terms in the order of TERMS, (12, n); their sum times dt is the reward."""
    distance, joined = geometry.pair_distances(state.ball_position, scene.active)
    per_ball = [margin(scene), edge(scene), velocity_xy(scene), velocity_z(scene)]
    # (4, N, n): as rows over the environments.
    per_ball = torch.stack([term.T for term in per_ball])
    terms = [
        *geometry.masked_mean(per_ball, scene.active.T, axis=-2),
        tail(scene, cfg.tail_share),
        spacing(distance, joined, cfg.d_max),
        spacing_tail(distance, joined, cfg.tail_share),
        dangerous(scene),
        track_linear(scene, cfg.tracking_width),
        track_yaw(scene, cfg.tracking_width),
        height(state, height_reference),
        roll_pitch(scene),
    ]
    weights = constant(tuple(getattr(cfg, name) for name in TERMS), terms[0])
    return torch.stack(terms) * weights.unsqueeze(-1)
