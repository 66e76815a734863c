"""A simulator without physics, for tests of everything above it: sim=dummy.

The plate tilts at once as the leg targets say, balls slide on it as points with friction and do not
meet, the base moves exactly as the wheels turn. A policy can learn on it within seconds; what it
learns means nothing.
"""

import time

import torch
from torch import Tensor

from s2m.config.sim import DummyCfg
from s2m.robot.model import BALL_RADIUS, GRAVITY, LEG_JOINTS, MAX_BALLS, ROBOT
from s2m.task.geometry import support_margin
from s2m.task.state import Spawn, TransportState

DAMPING = 0.8
"""Friction of the balls, 1/s."""
FALL = 0.02
"""How far a ball beyond the edge sinks per step, m."""


class DummySimulator:
    """Points on a tilting plate."""

    def __init__(self, cfg: DummyCfg, num_envs: int, **_: object) -> None:
        """Start with empty plates."""
        self.num_envs, self.dt, self.device = num_envs, cfg.dt, torch.device("cpu")
        self.pause = cfg.pause
        self.unsolved = torch.zeros(())
        self.tilt = torch.zeros(num_envs, 2)
        self.joints = torch.zeros(num_envs, len(ROBOT.leg_joints))
        self.motion = torch.zeros(num_envs, 3)
        """(n, 3) base velocity v_x, v_y, yaw rate."""
        self.position = torch.zeros(num_envs, MAX_BALLS, 3)
        self.velocity = torch.zeros(num_envs, MAX_BALLS, 2)
        self.rotation = torch.zeros(num_envs, MAX_BALLS, 4)
        self.count = torch.zeros(num_envs, dtype=torch.long)

    def reset(self, env_ids: Tensor, spawn: Spawn) -> None:
        """Level plates with balls where `spawn` says."""
        for name in ("tilt", "joints", "motion"):
            getattr(self, name)[env_ids] = 0.0
        self.count[env_ids] = spawn.count
        rest = torch.full((len(env_ids), MAX_BALLS, 1), ROBOT.plate_height + BALL_RADIUS)
        self.position[env_ids] = torch.cat([spawn.position, rest], -1).to(self.position)
        self.velocity[env_ids] = spawn.velocity.to(self.velocity)
        self.rotation[env_ids] = spawn.rotation.to(self.rotation)

    def step(self, joint_targets: Tensor, hub_speeds: Tensor) -> None:
        """Move everything by one control step."""
        time.sleep(self.pause)
        legs = joint_targets.unflatten(1, (-1, len(LEG_JOINTS)))
        self.joints = joint_targets.clone()
        self.tilt = torch.stack([-legs[..., 1].mean(1), legs[..., 0].mean(1)], -1)
        self.tilt = self.tilt / ROBOT.tilt_ratio
        speed, steer = hub_speeds * ROBOT.wheel_radius, legs[..., 2]
        velocity = torch.stack([(speed * steer.cos()).mean(1), (speed * steer.sin()).mean(1)], -1)
        push = (velocity - self.motion[:, :2]) / self.dt
        self.motion = torch.cat([velocity, self._yaw(speed, steer)], -1)
        acceleration = 5 / 7 * (GRAVITY * self.tilt - push).unsqueeze(1) - DAMPING * self.velocity
        self.velocity = self.velocity + self.dt * acceleration
        sinking = -FALL * (support_margin(self.position) < 0).to(self.position.dtype)
        self.position = self.position + torch.cat(
            [self.dt * self.velocity, sinking.unsqueeze(-1)], -1
        )

    def _yaw(self, speed: Tensor, steer: Tensor) -> Tensor:
        """Rate of turn that fits the wheels best, (n, 1)."""
        x, y = torch.tensor(ROBOT.wheel_positions).to(speed).unbind(-1)
        turning = (x * speed * steer.sin() - y * speed * steer.cos()).sum(-1, keepdim=True)
        return turning / (x.square() + y.square()).sum()

    def read(self, env_ids: Tensor | None = None) -> TransportState:
        """Return the state of all or of some environments."""
        rows = torch.arange(self.num_envs) if env_ids is None else env_ids
        n, tilt, position = len(rows), self.tilt[rows], self.position[rows]
        active = torch.arange(MAX_BALLS) < self.count[rows].unsqueeze(-1)
        on = active.unsqueeze(-1)
        still = torch.zeros(n, 3)
        motion = self.motion[rows]
        down = -(1 - tilt.square().sum(-1, keepdim=True)).clamp(min=0).sqrt()
        velocity = torch.cat([self.velocity[rows], torch.zeros(n, MAX_BALLS, 1)], -1)
        return TransportState.of(
            base_height=torch.full((n, 1), ROBOT.stance_height),
            gravity=torch.cat([tilt, down], -1),
            linear_velocity=torch.cat([motion[:, :2], still[:, :1]], -1),
            angular_velocity=torch.cat([still[:, :2], motion[:, 2:]], -1),
            joint_position=self.joints[rows],
            joint_velocity=torch.zeros(n, self.joints.shape[1]),
            ball_position=position * on,
            ball_velocity=velocity * on,
            ball_rotation=self.rotation[rows] * on,
            ball_angular_velocity=torch.zeros(n, MAX_BALLS, 3),
            ball_contact=(support_margin(position) > 0) & active,
            ball_active=active,
            unstable=~torch.isfinite(position).all(-1).all(-1),
        )

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all states."""
        return {name: getattr(self, name).clone() for name in _STATE}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to a snapshot."""
        for name in _STATE:
            setattr(self, name, state[name].clone())

    def close(self) -> None:
        """Free nothing."""


_STATE = ("tilt", "joints", "motion", "position", "velocity", "rotation", "count")
