"""Fixed scaling of observations, about one unit for what matters in this task.

Running normalisation is not used: it blows 258 strongly correlated inputs up to unit variance,
which drives the adaptive learning rate of PPO to its floor, and statistics per ball slot would
break the symmetry of the slots. (x - offset) * scale, the same for every encoder and seed, once per
control step: every sample is learned from several times.
"""

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from s2m.config.task import CommandCfg
from s2m.robot.model import BALL_RADIUS, LEG_JOINTS, LEGS, MAX_BALLS, ROBOT
from s2m.task.commands import COMMAND_SIZE
from s2m.task.geometry import HALF_PLATE
from s2m.task.observations import BALL_FRAMES, PROPRIO_FRAMES

ANGULAR_VELOCITY = (0.5, 0.5, 0.5)
GRAVITY = (8.0, 8.0, 1.0)
JOINT_POSITION = {"abduct": 6.0, "thigh": 6.0, "steer": 0.5}
JOINT_VELOCITY = {"abduct": 0.5, "thigh": 0.5, "steer": 0.1}
ACTION = 0.3
HEIGHT = 20.0
ACCELERATION = 4.0
BALL = (1 / HALF_PLATE[0], 1 / HALF_PLATE[1], 20.0, *(4.0,) * 3, *(0.25,) * 4, *(1.0,) * 3, 1.0)


def proprio_scaling() -> tuple[Tensor, Tensor]:
    """Return offset and scale (258,) of the proprioception window."""
    joints = [LEG_JOINTS[i % len(LEG_JOINTS)] for i in range(len(LEGS) * len(LEG_JOINTS))]
    scale = [
        *ANGULAR_VELOCITY,
        *GRAVITY,
        *(JOINT_POSITION[name] for name in joints),
        *(JOINT_VELOCITY[name] for name in joints),
        *(ACTION for _ in joints),
        HEIGHT,
    ]
    offset = torch.zeros(len(scale))
    offset[5] = -1.0
    offset[-1] = ROBOT.stance_height
    return offset.repeat(PROPRIO_FRAMES), torch.tensor(scale).repeat(PROPRIO_FRAMES)


def command_scale(cfg: CommandCfg) -> Tensor:
    """Return the scale (5,) that maps the range of commands to [-1, 1], and of accelerations."""
    limits = torch.tensor([cfg.linear_x, cfg.linear_y, cfg.yaw])
    speeds = torch.where(limits > 0, 1 / limits.clamp(min=1e-9), 0.0)
    return torch.cat([speeds, torch.full((2,), ACCELERATION)])


def ball_scaling() -> tuple[Tensor, Tensor]:
    """Return offset and scale (14,) of a ball's features; every slot has the same."""
    offset = torch.zeros(len(BALL))
    offset[2] = ROBOT.plate_height + BALL_RADIUS
    return offset, torch.tensor(BALL)


class Scaler(nn.Module):
    """Turns what an environment shows into what networks see: `vector` and both ball histories."""

    offset: Tensor
    scale: Tensor
    ball_scale: Tensor

    def __init__(self, command: CommandCfg) -> None:
        """Take the fixed numbers of a task; they follow from its config, no checkpoint has them."""
        super().__init__()
        offset, scale = proprio_scaling()
        of_ball, ball_scale = ball_scaling()
        fixed = {
            "offset": torch.cat([offset, torch.zeros(COMMAND_SIZE)]),
            "scale": torch.cat([scale, command_scale(command)]),
            # Of full shape: broadcasting over rows of 14 numbers would take several times as long.
            "ball_scale": ball_scale.repeat(BALL_FRAMES, MAX_BALLS, 1),
        }
        for name, values in fixed.items():
            self.register_buffer(name, values, persistent=False)
        self.ball_offset: list[float] = (of_ball * ball_scale).tolist()

    def forward(self, observed: TensorDict) -> TensorDict:
        """Return vector (n, 263), that is proprioception and command, balls and balls_clean."""
        scaled = {
            "vector": self.vector(observed["proprio"], observed["command"]),
            "balls": self.balls(observed["balls"]),
            "balls_clean": self.balls(observed["balls_clean"]),
        }
        return TensorDict(scaled, batch_size=observed.batch_size, device=observed.device)

    def vector(self, proprio: Tensor, command: Tensor) -> Tensor:
        """Return proprioception (n, 258) and command (n, 5), scaled, as one vector (n, 263)."""
        return torch.cat([proprio, command], -1).sub_(self.offset).mul_(self.scale)

    def balls(self, balls: Tensor) -> Tensor:
        """Scale balls (n, H, N, 14); empty slots, whose activity is 0, stay all zero."""
        scaled, activity = balls * self.ball_scale, balls[..., -1]
        for feature, offset in enumerate(self.ball_offset):
            if offset:
                scaled[..., feature].sub_(activity, alpha=offset)
        return scaled
