"""What a simulator tells the task, and what the task tells a simulator at a reset."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

ROBOT_PARTS = {
    "angular_velocity": 3, "gravity": 3, "joint_position": 12, "joint_velocity": 12,
    "base_height": 1, "linear_velocity": 3,
}  # fmt: skip
BALL_PARTS = {
    "ball_position": 3, "ball_velocity": 3, "ball_rotation": 4, "ball_angular_velocity": 3
}  # fmt: skip
"""What is packed into the two tensors of a state, in order, and how many numbers each part has."""


@dataclass(frozen=True)
class TransportState:
    """The state of n environments with N = 5 ball slots, after a control step.

    Base frame: origin in the robot's base, x forward, y left, z up with the trunk. Metres, seconds,
    radians; quaternions (w, x, y, z). Slot i is ball i; slots that are not active are all zero.
    Numbers are packed into two tensors, so that few operations move them; their parts have names.
    """

    robot: Tensor
    """(n, 34) all numbers of the robot."""
    balls: Tensor
    """(n, N, 13) all numbers of the balls."""
    ball_contact: Tensor
    """(n, N) bool: the ball touches the plate."""
    ball_active: Tensor
    """(n, N) bool: the slot holds a ball."""
    unstable: Tensor
    """(n,) bool: the simulation broke down; the state is the last sound pose, at rest."""

    angular_velocity: Tensor = field(init=False)
    """(n, 3) angular velocity of the base, in the base frame."""
    gravity: Tensor = field(init=False)
    """(n, 3) unit vector of gravity in the base frame; (0, 0, -1) when upright."""
    joint_position: Tensor = field(init=False)
    """(n, 12) leg joint angles in the robot's order."""
    joint_velocity: Tensor = field(init=False)
    """(n, 12) leg joint speeds in the robot's order."""
    base_height: Tensor = field(init=False)
    """(n, 1) height of the base origin over the ground."""
    linear_velocity: Tensor = field(init=False)
    """(n, 3) velocity of the base origin, in the base frame."""
    ball_position: Tensor = field(init=False)
    """(n, N, 3) ball centre minus base origin, in the base frame."""
    ball_velocity: Tensor = field(init=False)
    """(n, N, 3) ball velocity minus base velocity (inertial difference), in the base frame."""
    ball_rotation: Tensor = field(init=False)
    """(n, N, 4) orientation of the ball seen from the base, w >= 0."""
    ball_angular_velocity: Tensor = field(init=False)
    """(n, N, 3) ball minus base angular velocity, in the base frame."""

    def __post_init__(self) -> None:
        """Name the parts, which stay views of the packed tensors."""
        for packed, parts in ((self.robot, ROBOT_PARTS), (self.balls, BALL_PARTS)):
            views = packed.split(list(parts.values()), -1)
            self.__dict__.update(zip(parts, views, strict=True))

    @classmethod
    def of(
        cls, *, ball_contact: Tensor, ball_active: Tensor, unstable: Tensor, **parts: Tensor
    ) -> "TransportState":
        """Pack a state from all of its named parts."""
        robot = torch.cat([parts[name] for name in ROBOT_PARTS], -1)
        balls = torch.cat([parts[name] for name in BALL_PARTS], -1)
        return cls(robot, balls, ball_contact, ball_active, unstable)

    def put(self, env_ids: Tensor, other: "TransportState") -> None:
        """Overwrite the rows env_ids by the rows of another state, in place."""
        for name in ("robot", "balls", "ball_contact", "ball_active", "unstable"):
            getattr(self, name)[env_ids] = getattr(other, name)


@dataclass
class Spawn:
    """How m environments begin: the robot in its default pose, balls on the plate."""

    count: Tensor
    """(m,) number of balls, 1..5; the first `count` slots are used."""
    position: Tensor
    """(m, N, 2) ball centres on the plate, x and y from the plate's centre, m."""
    velocity: Tensor
    """(m, N, 2) rolling velocities of the centres over the plate, m/s."""
    rotation: Tensor
    """(m, N, 4) orientations in the world frame."""
