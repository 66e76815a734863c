"""Velocity commands, the smooth reference behind them, and four-wheel-steering kinematics."""

import math

import torch
from torch import Tensor

from s2m.config.task import CommandCfg
from s2m.robot.model import Robot

COMMAND_SIZE = 5


class Commands:
    """Commands (v_x, v_y, yaw rate) of n environments and the reference the wheels follow.

    The reference passes three first-order lags: a step of the command gives no jump of the
    acceleration, which would throw balls off before any controller could tilt the plate.
    """

    def __init__(self, cfg: CommandCfg, n: int, dt: float, generator: torch.Generator) -> None:
        """Start with zero commands; `reset` draws them."""
        self.cfg, self.dt, self.generator = cfg, dt, generator
        device = generator.device
        self.limits = torch.tensor([cfg.linear_x, cfg.linear_y, cfg.yaw], device=device)
        self.target = torch.zeros(n, 3, device=device)
        """(n, 3) the command."""
        self.lags = torch.zeros(3, n, 3, device=device)
        self.acceleration = torch.zeros(n, 3, device=device)
        """(n, 3) time derivative of the reference."""

    @property
    def reference(self) -> Tensor:
        """(n, 3) the smoothed command."""
        return self.lags[2]

    @property
    def plate_acceleration(self) -> Tensor:
        """(n, 2) acceleration of the plate's centre that the reference asks for, in base axes."""
        x, y, yaw = self.reference.unbind(-1)
        return self.acceleration[:, :2] + torch.stack([-yaw * y, yaw * x], -1)

    def observed(self) -> Tensor:
        """Return what the policy is told, (n, 5): the command and the plate's acceleration."""
        asked = self.plate_acceleration
        seen = asked if self.cfg.acceleration else torch.zeros_like(asked)
        return torch.cat([self.target, seen], -1)

    def reset(self, env_ids: Tensor) -> None:
        """Begin at rest with a new command."""
        self.lags[:, env_ids] = 0.0
        self.acceleration[env_ids] = 0.0
        self.resample(env_ids)

    def resample(self, env_ids: Tensor) -> None:
        """Draw new commands: uniform in the box, or zero with probability `standing`."""
        draw = torch.rand(len(env_ids), 4, generator=self.generator, device=self.target.device)
        moving = (draw[:, 3:] >= self.cfg.standing).to(draw.dtype)
        self.target[env_ids] = (draw[:, :3] * 2 - 1) * self.limits * moving

    def advance(self) -> None:
        """Move the reference by one control step."""
        rate = self.cfg.bandwidth * self.dt
        first, second, third = self.lags.unbind()
        first.lerp_(self.target, rate)
        second.lerp_(first, rate)
        self.acceleration = self.cfg.bandwidth * (second - third)
        third.add_(self.acceleration, alpha=self.dt)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what a resumed run needs."""
        return {
            "target": self.target.clone(),
            "lags": self.lags.clone(),
            "acceleration": self.acceleration.clone(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from a saved state."""
        for name, value in state.items():
            getattr(self, name).copy_(value)


class WheelKinematics:
    """Steering angles and hub speeds that carry the base at a reference velocity."""

    HOLD_SPEED = 0.01
    """Below this contact speed (m/s) a wheel keeps its angle, which is undefined at rest."""
    REACH = 1.5 * math.pi
    """Steering angles stay within +-REACH; beyond it the wheel turns back by half a turn."""

    def __init__(self, cfg: CommandCfg, robot: Robot, n: int, dt: float, device: str) -> None:
        """Start with all wheels straight."""
        self.max_turn = cfg.steer_rate * dt
        x, y = torch.tensor(robot.wheel_positions, device=device).unbind(-1)
        one, none = torch.ones_like(x), torch.zeros_like(x)
        self.jacobian = torch.stack([torch.cat(row) for row in ((one, none), (none, one), (-y, x))])
        """(3, 8) velocities of the contacts, along x and then along y, by that of the base."""
        self.radius = robot.wheel_radius
        self.steer = torch.zeros(n, len(x), device=device)
        """(n, 4) present steering reference, rad."""

    def advance(self, reference: Tensor) -> tuple[Tensor, Tensor]:
        """Return steering angles and hub speeds (n, 4), rad and rad/s, for a reference (n, 3).

        Of the two wheel directions that fit a velocity the nearer one is taken. The hub turns at
        the projection of the contact velocity on the present heading, so that a wheel which is
        still turning does not push sideways.
        """
        x, y = (reference @ self.jacobian).chunk(2, -1)
        heading = torch.atan2(y, x)
        half = math.pi / 2
        speed = torch.hypot(x, y)
        turn = (heading - self.steer + half) % math.pi - half
        turn = turn - math.pi * ((self.steer + turn) / self.REACH).trunc()
        turn = turn * (speed > self.HOLD_SPEED)
        self.steer = self.steer + turn.clamp(-self.max_turn, self.max_turn)
        hub = speed * (heading - self.steer).cos() / self.radius
        return self.steer, hub

    def reset(self, env_ids: Tensor) -> None:
        """Put the wheels straight."""
        self.steer[env_ids] = 0.0
