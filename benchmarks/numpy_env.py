"""The environment as one would write it for a single robot in NumPy: the peer of the batched one.

The same quantities per control step: state in the base frame, observation frames with noise,
permutation and histories, the reward and the terminations. No resets, no curriculum, no logging.
"""

import mujoco
import numpy as np

from s2m.config.task import RewardCfg, TaskCfg
from s2m.robot.model import BALL_RADIUS, MAX_BALLS, ROBOT
from s2m.task.geometry import HALF_PLATE

HALF = np.array(HALF_PLATE)
LEGS = np.array([4 * leg + joint for leg in range(4) for joint in range(3)])


class NumpyEnv:
    """One robot with k balls."""

    def __init__(self, model: mujoco.MjModel, k: int, state: np.ndarray, seed: int) -> None:
        self.model, self.data, self.k = model, mujoco.MjData(model), k
        self.data.qpos[:], self.data.qvel[:] = state[1 : 1 + model.nq], state[1 + model.nq :]
        self.rng = np.random.default_rng(seed)
        self.task, self.reward = TaskCfg(), RewardCfg()
        self.proprio = np.zeros((6, 43), np.float32)
        self.balls = np.zeros((4, MAX_BALLS, 14), np.float32)
        self.clean = np.zeros((4, MAX_BALLS, 14), np.float32)
        self.pairs = np.triu_indices(k, 1)

    def step(self, control: np.ndarray, command: np.ndarray, action: np.ndarray) -> tuple:
        """Advance by the controls of one control step; return observations, reward, done."""
        for row in control:
            self.data.ctrl[:] = row
            mujoco.mj_step(self.model, self.data)
        qpos, qvel, k = self.data.qpos, self.data.qvel, self.k
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, qpos[3:7])
        turn = turn.reshape(3, 3)
        ball, motion = qpos[23:].reshape(k, 7), qvel[22:].reshape(k, 6)
        position = (ball[:, :3] - qpos[:3]) @ turn
        velocity = (motion[:, :3] - qvel[:3]) @ turn
        linear, angular, gravity = qvel[:3] @ turn, qvel[3:6], -turn[2]
        rotation, spin = np.empty((k, 4)), np.empty((k, 3))
        inverse = qpos[3:7] * [1, -1, -1, -1]
        for i in range(k):
            mujoco.mju_mulQuat(rotation[i], inverse, ball[i, 3:])
            mujoco.mju_rotVecQuat(spin[i], motion[i, 3:], rotation[i])
        margin = (1 - np.abs(position[:, :2]) / HALF).min(1)
        resting = np.abs(position[:, 2] - ROBOT.plate_height - BALL_RADIUS)
        seen = (resting < self.task.contact_gap) & (margin > 0)
        self._observe(position, velocity, rotation, spin - angular, seen, gravity, action)
        reward = self._reward(position, velocity, margin, linear, angular, gravity, command)
        height = -(position @ gravity)
        done = bool((height < 0).any() or qpos[2] < self.task.min_height or gravity[2] > 0)
        observation = (self.proprio.copy(), command, self.balls.copy(), self.clean.copy())
        return observation, reward, done

    def _observe(self, position, velocity, rotation, spin, seen, gravity, action) -> None:
        data, k, noise = self.data, self.k, self.task.noise
        joints, speeds = data.qpos[7:23][LEGS], data.qvel[6:22][LEGS]
        frame = np.concatenate(
            [data.qvel[3:6], gravity, joints, speeds, action, data.qpos[2:3]], dtype=np.float32
        )
        self.proprio = np.concatenate([self.proprio[1:], frame[None]])
        clean = np.zeros((MAX_BALLS, 14), np.float32)
        clean[:k] = np.concatenate(
            [position, 0.5 * velocity, rotation, 0.25 * spin, np.ones((k, 1))], 1
        )
        noisy = clean.copy()
        draw = self.rng.uniform(-1, 1, (k, 12))
        noisy[:k, :3] += noise.position * draw[:, :3]
        noisy[:k, 3:6] += 0.5 * noise.velocity * draw[:, 3:6]
        half = 0.5 * noise.orientation * draw[:, 6:9]
        w, v = rotation[:, :1], rotation[:, 1:]
        turned = np.concatenate(
            [w - (half * v).sum(1, keepdims=True), v + w * half + np.cross(half, v)], 1
        )
        noisy[:k, 6:10] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        noisy[:k, 10:13] += 0.25 * noise.angular * draw[:, 9:12]
        clean[:k] *= seen[:, None]
        noisy[:k] *= seen[:, None]
        order = self.rng.permutation(MAX_BALLS)
        self.clean = np.concatenate([self.clean[1:], clean[order][None]])
        self.balls = np.concatenate([self.balls[1:], noisy[order][None]])

    def _reward(self, position, velocity, margin, linear, angular, gravity, command) -> float:
        cfg = self.reward
        over_plate = velocity - np.cross(angular, position)
        total = cfg.margin * margin.clip(0, 1).mean() + cfg.tail * _tail(margin, cfg.tail_share)
        total += cfg.edge * (margin < 0).mean()
        if self.k > 1:
            i, j = self.pairs
            distance = np.linalg.norm(position[i, :2] - position[j, :2], axis=1)
            total += cfg.spacing * np.minimum(distance, cfg.d_max).mean()
            total += cfg.spacing_tail * _tail(distance, cfg.tail_share)
        total += cfg.dangerous * (margin.min() < self.task.danger[self.k - 1])
        total += cfg.velocity_xy * (over_plate[:, :2] ** 2).sum(1).mean()
        total += cfg.velocity_z * np.abs(over_plate[:, 2]).mean()
        error = ((linear[:2] - command[:2]) ** 2).sum()
        total += cfg.track_linear * np.exp(-error / cfg.tracking_width)
        total += cfg.track_yaw * np.exp(-((angular[2] - command[2]) ** 2) / cfg.tracking_width)
        total += cfg.height * (self.data.qpos[2] - ROBOT.stance_height) ** 2
        roll = np.arctan2(-gravity[1], -gravity[2])
        pitch = np.arctan2(gravity[0], np.hypot(gravity[1], gravity[2]))
        return float(total + cfg.roll_pitch * (roll**2 + pitch**2)) * 0.02


def _tail(values: np.ndarray, share: float) -> float:
    weight = share * len(values)
    weights = (weight - np.arange(len(values))).clip(0, 1)
    return float((np.sort(values) * weights).sum() / weight)
