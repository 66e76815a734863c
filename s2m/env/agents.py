"""Reference agents: zero, random and a hand-written balance controller.

They act on a TransportEnv and show what a policy must beat before its training means anything.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from s2m.env.transport import NUM_ACTIONS, TransportEnv
from s2m.robot.model import GRAVITY, LEG_JOINTS, ROBOT
from s2m.task.geometry import masked_mean
from s2m.task.scene import plate_velocity

Agent = Callable[[], Tensor]
"""Returns the actions (n, 12) for the environment's present state."""


def zero(env: TransportEnv) -> Agent:
    """Hold the default pose."""
    actions = torch.zeros(env.num_envs, NUM_ACTIONS, device=env.device)
    return lambda: actions


def noise(env: TransportEnv) -> Agent:
    """Act at random, with unit standard deviation."""
    shape, generator = (env.num_envs, NUM_ACTIONS), env.streams["action"]
    return lambda: torch.randn(shape, generator=generator, device=env.device)


class Balance:
    """LQR per plate axis on the balls as one body, with acceleration feed-forward.

    It sees the clean state, which no policy observes: a reference, not a peer. Model:
    p'' = 5/7 g (phi - f) - damping p', tau phi' = u - phi, where phi is the tilt, f the tilt that
    balances the base's acceleration, u the commanded tilt and its rate the input. The position is
    the middle of the balls' bounding box, whose margin is what counts.
    """

    LAG = 0.09
    """Seconds from command to tilt: joint drives plus the low-pass on actions."""
    DAMPING = 0.5
    """Rolling resistance near rest, linearised, 1/s."""
    SCALES = {"position": 0.05, "velocity": 0.1, "tilt": 0.1, "rate": 2.0}
    """Deviations of equal cost: m, m/s, rad, rad/s."""
    LIMIT = 0.12
    """Largest commanded tilt, rad."""

    def __init__(self, env: TransportEnv) -> None:
        """Solve for the gains once."""
        self.env = env
        self.gains = self._solve(env.sim.dt)
        self.command = torch.zeros(env.num_envs, 2, device=env.device)
        joints = torch.zeros(2, NUM_ACTIONS, device=env.device)
        # Positive tilt accelerates balls along +x (nose down) and +y (right side up).
        joints[0, LEG_JOINTS.index("thigh") :: 3] = -ROBOT.tilt_ratio
        joints[1, LEG_JOINTS.index("abduct") :: 3] = ROBOT.tilt_ratio
        self.to_actions = joints / env.action_scale

    def _solve(self, dt: float) -> list[float]:
        from scipy.linalg import expm, solve_discrete_are  # which no training needs

        flow = np.array(
            [
                [0, 1, 0, 0],
                [0, -self.DAMPING, 5 / 7 * GRAVITY, 0],
                [0, 0, -1 / self.LAG, 1 / self.LAG],
                [0, 0, 0, 0],
            ]
        )
        a = expm(flow * dt)
        b = a[:, 3:]
        scale = self.SCALES
        state_cost = np.diag(
            [scale["position"] ** -2, scale["velocity"] ** -2, scale["tilt"] ** -2,
             scale["tilt"] ** -2]
        )  # fmt: skip
        input_cost = np.array([[(scale["rate"] * dt) ** -2]])
        cost = solve_discrete_are(a, b, state_cost, input_cost)
        return np.linalg.solve(input_cost + b.T @ cost @ b, b.T @ cost @ a)[0].tolist()

    def centre(self, xy: Tensor, active: Tensor) -> Tensor:
        """Return where the balls are as one body, (n, 2)."""
        on = active.unsqueeze(-1)
        low = xy.masked_fill(~on, torch.inf).amin(1)
        high = xy.masked_fill(~on, -torch.inf).amax(1)
        return (low + high) / 2

    def __call__(self) -> Tensor:
        """Return the actions for the present state."""
        env, state = self.env, self.env.state
        # A promotion at a random episode time keeps the command; such episodes never count.
        self.command[env.episode_length_buf == 0] = 0.0
        velocity = plate_velocity(state)[..., :2].transpose(1, 2)
        velocity = masked_mean(velocity, state.ball_active.unsqueeze(1))
        feed_forward = env.commands.plate_acceleration / GRAVITY
        k = self.gains
        change = (
            k[0] * self.centre(state.ball_position[..., :2], state.ball_active)
            + k[1] * velocity
            + k[2] * (state.gravity[:, :2] - feed_forward)
            + k[3] * (self.command - feed_forward)
        )
        self.command = (self.command - change).clamp(-self.LIMIT, self.LIMIT)
        return self.command @ self.to_actions


class BalanceMean(Balance):
    """The same, but for the mean ball: what a policy reaches that sees no more than that."""

    def centre(self, xy: Tensor, active: Tensor) -> Tensor:
        """Return the mean of the balls, (n, 2)."""
        return masked_mean(xy.transpose(1, 2), active.unsqueeze(1))


AGENTS: dict[str, Callable[[TransportEnv], Agent]] = {
    "zero": zero,
    "random": noise,
    "lqr": Balance,
    "lqr_mean": BalanceMean,
}
