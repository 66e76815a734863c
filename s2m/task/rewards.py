"""The reward terms of the paper (appendix C.1), one function each, unweighted.

A term is a function here and a weight of its name in RewardCfg. One that begins with `@of_balls`
gives a number per ball, which is averaged over the balls on the plate; one that begins with `@term`
a number per environment. Terms of pairs are 0 for one ball, which has no pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from s2m.config.task import RewardCfg
from s2m.robot.model import ROBOT
from s2m.task import geometry
from s2m.task.constants import constant
from s2m.task.scene import Scene
from s2m.task.state import TransportState


@dataclass
class Moment:
    """A control step as the terms see it."""

    state: TransportState
    scene: Scene
    cfg: RewardCfg

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """(n, 10) distances of all slot pairs, and which of them join two active balls."""
        return geometry.pair_distances(self.state.ball_position, self.scene.active)


Term = Callable[[Moment], Tensor]
OF_BALLS: dict[str, Term] = {}
TERMS: dict[str, Term] = {}


def of_balls(function: Term) -> Term:
    """Make a function (n, N) of balls a reward term: its mean over the balls."""
    OF_BALLS[function.__name__] = function
    return function


def term(function: Term) -> Term:
    """Make a function (n,) a reward term."""
    TERMS[function.__name__] = function
    return function


@of_balls
def margin(at: Moment) -> Tensor:
    """r_margin: mu_i within [0, 1]."""
    return at.scene.margin.clamp(0, 1)


@of_balls
def edge(at: Moment) -> Tensor:
    """r_edge: 1 if mu_i < 0."""
    return at.scene.outside.to(at.scene.margin.dtype)


@of_balls
def velocity_xy(at: Moment) -> Tensor:
    """r_vel,xy: squared horizontal speed over the plate."""
    x, y, _ = at.scene.plate_velocity.square().unbind(-1)
    return x + y


@of_balls
def velocity_z(at: Moment) -> Tensor:
    """r_vel,z: vertical speed over the plate."""
    return at.scene.plate_velocity[..., 2].abs()


@term
def tail(at: Moment) -> Tensor:
    """r_tail: CVaR of the margins."""
    return geometry.tail_mean(at.scene.margin, at.scene.active, at.cfg.tail_share)


@term
def spacing(at: Moment) -> Tensor:
    """r_spacing: mean of min(|p_i - p_j|, d_max) over pairs."""
    distance, joined = at.pairs
    return geometry.masked_mean(distance.clamp(max=at.cfg.d_max), joined)


@term
def spacing_tail(at: Moment) -> Tensor:
    """r_spacing,tail: CVaR of the pair distances."""
    distance, joined = at.pairs
    return geometry.tail_mean(distance, joined, at.cfg.tail_share)


@term
def dangerous(at: Moment) -> Tensor:
    """r_dangerous: 1 if the smallest margin is below the danger threshold."""
    return at.scene.dangerous.to(at.scene.margin.dtype)


@term
def track_linear(at: Moment) -> Tensor:
    """r_track,v: exp(-|v_xy - v_cmd|^2 / width)."""
    return torch.exp(at.scene.linear_error.square() * (-1 / at.cfg.tracking_width))


@term
def track_yaw(at: Moment) -> Tensor:
    """r_track,omega: exp(-|omega_z - omega_cmd|^2 / width)."""
    return torch.exp(at.scene.yaw_error.square() * (-1 / at.cfg.tracking_width))


@term
def height(at: Moment) -> Tensor:
    """r_height: (h - h_ref)^2."""
    return (at.state.base_height.squeeze(-1) - ROBOT.stance_height).square()


@term
def roll_pitch(at: Moment) -> Tensor:
    """r_roll,pitch: squared roll and pitch, rad^2."""
    return at.scene.tilt.square().sum(-1)


class Rewards:
    """The terms that have a weight; one with weight 0 costs nothing and changes no bit."""

    def __init__(self, cfg: RewardCfg) -> None:
        """Choose the terms of a config."""
        self._cfg = cfg
        self._of_balls = [OF_BALLS[name] for name in OF_BALLS if getattr(cfg, name)]
        self._terms = [TERMS[name] for name in TERMS if getattr(cfg, name)]
        self.names = tuple(function.__name__ for function in self._of_balls + self._terms)
        self._weights = tuple(getattr(cfg, name) for name in self.names)

    def __call__(self, state: TransportState, scene: Scene) -> Tensor:
        """Return the weighted terms (m, n), ordered as `names`; their sum is the reward / dt."""
        at = Moment(state, scene, self._cfg)
        rows = [function(at) for function in self._terms]
        if self._of_balls:
            # (m, N, n): as rows over the environments.
            per_ball = torch.stack([function(at).T for function in self._of_balls])
            rows = [*geometry.masked_mean(per_ball, scene.active.T, axis=-2), *rows]
        if not rows:
            return scene.margin.new_zeros(0, len(scene.margin))
        return torch.stack(rows) * constant(self._weights, rows[0]).unsqueeze(-1)
