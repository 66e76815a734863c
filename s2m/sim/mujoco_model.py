"""What MuJoCo in C and MuJoCo Warp share: the model, the layout of its state, the robot at rest."""

from dataclasses import dataclass

import mujoco
import numpy as np

from s2m.config.sim import MujocoPhysicsCfg
from s2m.robot.mjcf import mjcf
from s2m.robot.model import BALL_RADIUS, LEGS, MAX_BALLS, ROBOT
from s2m.task.geometry import packing

ROBOT_NQ, ROBOT_NV = 7 + 16, 6 + 16
NQ, NV = ROBOT_NQ + 7 * MAX_BALLS, ROBOT_NV + 6 * MAX_BALLS
LEG_QPOS = [7 + 4 * leg + joint for leg in range(len(LEGS)) for joint in range(3)]
SETTLE_SECONDS = 1.0
STATE = ("balls", "qpos", "qvel", "warmstart", "unstable")
"""What a snapshot holds: it can move from one of the two simulators to the other."""


def compile_model(k: int, cfg: MujocoPhysicsCfg) -> mujoco.MjModel:
    """Return the model of the robot with k balls."""
    return mujoco.MjModel.from_xml_string(mjcf(ROBOT, k, cfg))


@dataclass
class Rest:
    """The robot as it stands under its balls."""

    offsets: np.ndarray
    """(12,) joint-target offsets that carry robot and balls."""
    qpos: np.ndarray
    """(23,) robot at rest under its balls."""
    ball_height: float
    """Height of a resting ball's centre over the plate (a little less than its radius)."""


def settle(model: mujoco.MjModel, k: int, cfg: MujocoPhysicsCfg) -> Rest:
    """Let the robot come to rest under k balls."""
    data = mujoco.MjData(model)
    offsets = ROBOT.gravity_offsets(k * cfg.ball.mass)
    data.qpos[LEG_QPOS] = ROBOT.default_pose
    data.ctrl[: len(LEG_QPOS)] = ROBOT.default_pose + offsets
    for i, (x, y) in enumerate(packing(k) if k else []):
        place = [x, y, ROBOT.stance_height + ROBOT.plate_height + BALL_RADIUS]
        data.qpos[ROBOT_NQ + 7 * i : ROBOT_NQ + 7 * i + 3] = place
    for _ in range(round(SETTLE_SECONDS / cfg.timestep)):
        mujoco.mj_step(model, data)
    qpos = data.qpos[:ROBOT_NQ].copy()
    ball_height = BALL_RADIUS
    if k:
        ball_height = float(data.qpos[ROBOT_NQ + 2] - qpos[2] - ROBOT.plate_height)
    return Rest(offsets, qpos, ball_height)
