"""What a simulator tells the task, and what the task tells a simulator at a reset."""

from dataclasses import dataclass, fields

from torch import Tensor


@dataclass
class TransportState:
    """The state of n environments with N = 5 ball slots, after a control step.

    Base frame: origin in the robot's base, x forward, y left, z up with the trunk. Metres, seconds,
    radians; quaternions (w, x, y, z). Slot i is ball i; slots that are not active are all zero.
    """

    base_height: Tensor
    """(n,) height of the base origin over the ground."""
    gravity: Tensor
    """(n, 3) unit vector of gravity in the base frame; (0, 0, -1) when upright."""
    linear_velocity: Tensor
    """(n, 3) velocity of the base origin, in the base frame."""
    angular_velocity: Tensor
    """(n, 3) angular velocity of the base, in the base frame."""
    joint_position: Tensor
    """(n, 12) leg joint angles in the robot's order."""
    joint_velocity: Tensor
    """(n, 12) leg joint speeds in the robot's order."""
    ball_position: Tensor
    """(n, N, 3) ball centre minus base origin, in the base frame."""
    ball_velocity: Tensor
    """(n, N, 3) ball velocity minus base velocity (inertial difference), in the base frame."""
    ball_rotation: Tensor
    """(n, N, 4) orientation of the ball seen from the base, w >= 0."""
    ball_angular_velocity: Tensor
    """(n, N, 3) ball minus base angular velocity, in the base frame."""
    ball_contact: Tensor
    """(n, N) bool: the ball touches the plate."""
    ball_active: Tensor
    """(n, N) bool: the slot holds a ball."""
    unstable: Tensor
    """(n,) bool: the simulation broke down; the state is the last sound pose, at rest."""

    def put(self, env_ids: Tensor, other: "TransportState") -> None:
        """Overwrite the rows env_ids by the rows of another state, in place."""
        for item in fields(self):
            getattr(self, item.name)[env_ids] = getattr(other, item.name)


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
