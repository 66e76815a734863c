"""What the robot and the balls do: python benchmarks/physics.py prints the figures of docs/task.md.

Standing, tracking and tilting are single measurements; the agents' success rates come from
`python -m s2m.evaluate agent=zero|lqr`.
"""

import math

import numpy as np
import torch

from s2m.config.env import EnvCfg
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.robot.model import ROBOT


def make(k: int, command: tuple[float, float, float]) -> TransportEnv:
    env = TransportEnv(EnvCfg(num_envs=1), balls=torch.tensor([k]))
    env.sim.qvel[:] = 0.0  # pyright: ignore[reportAttributeAccessIssue]
    env.commands.target[:] = torch.tensor([command])
    return env


def tilt(env: TransportEnv) -> float:
    return math.degrees(math.acos(min(1.0, -env.sim.read().gravity[0, 2].item())))


def standing(k: int) -> None:
    env = make(k, (0.0, 0.0, 0.0))
    start, worst = env.sim.qpos[0, :3].copy(), 0.0  # pyright: ignore[reportAttributeAccessIssue]
    for _ in range(500):
        env.sim.step(torch.zeros(1, 12), torch.zeros(1, 4))
        worst = max(worst, tilt(env))
    drift = np.linalg.norm(env.sim.qpos[0, :3] - start)  # pyright: ignore
    print(f"stand 10 s, zero action, k={k}: drift {1000 * drift:.2f} mm, tilt {worst:.3f} deg")


def tracking() -> None:
    env = make(1, (0.5, 0.2, 0.3))
    agent, speeds = AGENTS["lqr"](env), []
    for step in range(240):
        env.step(agent())
        if step >= 200:
            state = env.state
            speeds.append([*state.linear_velocity[0, :2].tolist(), state.angular_velocity[0, 2]])
    mean = np.array(speeds).mean(0)
    print("track (0.5, 0.2, 0.3) with lqr: " + " / ".join(f"{value:.3f}" for value in mean))


def tilting(name: str, joint: int, degrees: float) -> None:
    env = make(1, (0.0, 0.0, 0.0))
    targets = torch.zeros(1, 12)
    targets[:, joint::3] = -np.radians(degrees) * ROBOT.tilt_ratio
    angles = []
    for _ in range(50):
        env.sim.step(targets, torch.zeros(1, 4))
        angles.append(tilt(env))
    reached = {
        share: next(i + 1 for i, angle in enumerate(angles) if angle >= share * degrees)
        * env.sim.dt
        for share in (0.9, 0.95, 0.98)
    }
    times = ", ".join(f"{share:.0%} after {when:.2f} s" for share, when in reached.items())
    print(f"{name} step of {degrees:g} deg: {times}, largest {max(angles):.2f} deg")


def main() -> None:
    torch.set_num_threads(1)
    for k in (1, 5):
        standing(k)
    tracking()
    for degrees in (4.1, 8.0):
        tilting("pitch", 1, degrees)
        tilting("roll", 0, degrees)


if __name__ == "__main__":
    main()
