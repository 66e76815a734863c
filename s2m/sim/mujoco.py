"""MuJoCo on the CPU: batches of environments through `mujoco.rollout`.

One model is compiled per number of balls. States are kept padded to five balls, so environments
with different numbers can stand side by side; each control step makes one rollout call per number
that occurs. The results do not depend on the number of threads.
"""

import logging
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
import torch
from mujoco import rollout
from torch import Tensor

from s2m.config.sim import MujocoCfg
from s2m.robot.model import BALL_RADIUS, LEGS, MAX_BALLS, ROBOT
from s2m.sim.mujoco_model import (
    LEG_QPOS,
    NQ,
    NV,
    ROBOT_NQ,
    ROBOT_NV,
    STATE,
    Rest,
    compile_model,
    settle,
)
from s2m.sim.quaternion import conjugate, matrix, multiply, rotate, upper
from s2m.task.geometry import HALF_PLATE
from s2m.task.state import Spawn, TransportState

WRONG = 0.01
"""A velocity, m/s or rad/s, that differs by more from the solution was not solved for."""

# MuJoCo would write MUJOCO_LOG.TXT into the present folder; broken states are kept by `_keep`.
mujoco.set_mju_user_warning(logging.getLogger(__name__).info)


def _leg_joints(joints: np.ndarray) -> np.ndarray:
    """Drop the hub of each leg, (16, n) -> (12, n)."""
    return joints.reshape(len(LEGS), 4, -1)[:, :3].reshape(len(LEG_QPOS), -1)


def _groups(balls: np.ndarray) -> list[tuple[int, slice | np.ndarray]]:
    """Return the numbers of balls that occur, each with its rows."""
    if len(balls) and (balls == balls[0]).all():
        return [(int(balls[0]), slice(None))]
    return [(int(k), np.flatnonzero(balls == k)) for k in np.unique(balls)]


def _dtype() -> type:
    """Return torch's default type for NumPy."""
    return {torch.float32: np.float32, torch.float64: np.float64}[torch.get_default_dtype()]


@dataclass
class Level:
    """What one number of balls needs: its model, work space and the robot's state at rest."""

    model: mujoco.MjModel
    datas: list[mujoco.MjData]
    rest: Rest

    @cached_property
    def patient(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """The same model with a solver that does not give up, and its work space."""
        model = copy(self.model)
        model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 1e-14, 200, 200
        return model, mujoco.MjData(model)

    @property
    def sizes(self) -> tuple[int, int]:
        """Length of qpos and qvel."""
        return self.model.nq, self.model.nv


class MujocoSimulator:
    """The `Simulator` of machines without a GPU."""

    def __init__(
        self, cfg: MujocoCfg, num_envs: int, contact_gap: float, dump: str | Path | None = None
    ) -> None:
        """Prepare `num_envs` environments; they are unusable until their first reset."""
        self.cfg, self.num_envs, self.contact_gap = cfg, num_envs, contact_gap
        self.device = torch.device("cpu")
        self.dt = cfg.dt
        self.dump = Path(dump) if dump else None
        self.unstable_count = 0
        """Broken-down environment steps since the start."""
        self.pool = rollout.Rollout(nthread=cfg.threads if cfg.threads > 1 else 0)
        self.levels: dict[int, Level] = {}
        self.balls = np.zeros(num_envs, dtype=np.int64)
        self.qpos = np.zeros((num_envs, NQ))
        self.qvel = np.zeros((num_envs, NV))
        self.warmstart = np.zeros((num_envs, NV))
        """Last accelerations, from which the solver starts."""
        self.unstable = np.zeros(num_envs, dtype=bool)
        self.unsolved = torch.zeros(())

    def level(self, k: int) -> Level:
        """Return the compiled model for k balls."""
        if k not in self.levels:
            self.levels[k] = self._compile(k)
        return self.levels[k]

    def _compile(self, k: int) -> Level:
        model = compile_model(k, self.cfg)
        datas = [mujoco.MjData(model) for _ in range(max(1, self.cfg.threads))]
        return Level(model, datas, settle(model, k, self.cfg))

    def reset(self, env_ids: Tensor, spawn: Spawn) -> None:
        """Put robots at rest into the default pose and balls onto the plate."""
        ids = env_ids.numpy()
        self.balls[ids] = spawn.count.numpy()
        self.warmstart[ids] = 0.0
        self.unstable[ids] = False
        for k, rows in _groups(self.balls[ids]):
            self._place(ids[rows], rows, k, spawn)

    def _place(self, ids: np.ndarray, rows: slice | np.ndarray, k: int, spawn: Spawn) -> None:
        level, m = self.level(k), len(ids)
        rest = level.rest
        ball, motion = np.zeros((m, k, 7)), np.zeros((m, k, 6))
        ball[..., :2] = rest.qpos[:2] + spawn.position.numpy()[rows, :k]
        ball[..., 2] = rest.qpos[2] + ROBOT.plate_height + rest.ball_height
        ball[..., 3:] = spawn.rotation.numpy()[rows, :k]
        motion[..., :2] = spawn.velocity.numpy()[rows, :k]
        # Rolling with v is turning with (e_z x v) / r; free joints take it in the ball's frame.
        spin = np.stack([-motion[..., 1], motion[..., 0], motion[..., 2]]) / BALL_RADIUS
        # Environments before balls: another order of the columns rounds some of them differently,
        # and published runs could not be repeated bit for bit.
        turning = rotate(conjugate(np.moveaxis(ball[..., 3:], -1, 0)), spin)
        motion[..., 3:] = np.moveaxis(turning, 0, -1)
        nq, nv = level.sizes
        self.qpos[ids], self.qvel[ids] = 0.0, 0.0
        self.qpos[ids, :ROBOT_NQ] = rest.qpos
        self.qpos[ids, ROBOT_NQ:nq] = ball.reshape(m, -1)
        self.qvel[ids, ROBOT_NV:nv] = motion.reshape(m, -1)

    def step(self, joint_targets: Tensor, hub_speeds: Tensor) -> None:
        """Advance all environments by one control step."""
        targets, speeds = joint_targets.numpy(), hub_speeds.numpy()
        self.unstable[:] = False
        # rollout tells nothing of its solver, so one environment is solved again, with patience.
        # The state itself chooses it: a run that is resumed looks at the same ones.
        row = int(np.abs(self.qpos[:, :2]).sum() * 1e6) % self.num_envs
        right = self._solved(row, targets[row], speeds[row])
        for k, rows in _groups(self.balls):
            self._advance(k, rows, targets[rows], speeds[rows])
        wrong = np.abs(self.qvel[row, : len(right)] - right).max() > WRONG
        self.unsolved = torch.tensor(float(wrong and not self.unstable[row]))

    def _solved(self, row: int, targets: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """Return the velocities of one environment after a control step, to the last digit."""
        level = self.level(int(self.balls[row]))
        model, data = level.patient
        data.time, data.qpos[:], data.qvel[:] = (
            0.0,
            self.qpos[row, : model.nq],
            self.qvel[row, : model.nv],
        )
        data.qacc_warmstart[:] = self.warmstart[row, : model.nv]
        data.ctrl[:] = np.concatenate([targets + level.rest.offsets, speeds])
        for _ in range(self.cfg.decimation):
            mujoco.mj_step(model, data)
        return data.qvel

    def _advance(
        self, k: int, rows: slice | np.ndarray, targets: np.ndarray, speeds: np.ndarray
    ) -> None:
        level = self.level(k)
        (nq, nv), m, steps = level.sizes, len(targets), self.cfg.decimation
        start = np.empty((m, 1 + nq + nv))
        start[:, 0] = 0.0
        start[:, 1 : 1 + nq] = self.qpos[rows, :nq]
        start[:, 1 + nq :] = self.qvel[rows, :nv]
        control = np.empty((m, steps, targets.shape[1] + speeds.shape[1]))
        control[:, :, : targets.shape[1]] = (targets + level.rest.offsets)[:, None]
        control[:, :, targets.shape[1] :] = speeds[:, None]
        states, _ = self.pool.rollout(
            level.model, level.datas, start, control, nstep=steps,
            initial_warmstart=np.ascontiguousarray(self.warmstart[rows, :nv]),
        )  # fmt: skip
        end = states[:, -1]
        before = states[:, -2] if steps > 1 else start
        if not self._sound(end):
            sound = self._sound(end, axis=1)
            self._keep(k, start[~sound], control[~sound])
            resting = start[~sound]
            resting[:, 1 + nq :] = 0.0
            end[~sound] = before[~sound] = resting
            self.unstable[rows] = ~sound
        self.qpos[rows, :nq] = end[:, 1 : 1 + nq]
        self.qvel[rows, :nv] = end[:, 1 + nq :]
        # rollout does not return accelerations; the last velocity difference serves as well.
        self.warmstart[rows, :nv] = (end[:, 1 + nq :] - before[:, 1 + nq :]) / self.cfg.timestep

    def _sound(self, states: np.ndarray, axis: int | None = None) -> np.ndarray:
        """Whether all states, or each of them, are finite and slow; NaN fails the comparison too.

        All at once is much the quicker question, and the answer is nearly always yes.
        """
        return np.abs(states).max(axis) < self.cfg.max_speed

    def _keep(self, k: int, states: np.ndarray, control: np.ndarray) -> None:
        """Write the states and controls that broke the simulation, for a later look."""
        if self.dump and self.unstable_count < self.cfg.keep_unstable:
            self.dump.mkdir(parents=True, exist_ok=True)
            number = len(list(self.dump.glob("unstable-*.npz")))
            path = self.dump / f"unstable-{number:04d}.npz"
            path.unlink(missing_ok=True)  # a link would be written through
            np.savez_compressed(path, balls=k, states=states, control=control)
        self.unstable_count += len(states)

    def read(self, env_ids: Tensor | None = None) -> TransportState:
        """Return the state in the base frame; differences of positions are taken in float64.

        Environments are the last axis here and in the memory of what is returned: work on long rows
        costs a fraction of work on many threes and fours.
        """
        rows = slice(None) if env_ids is None else env_ids.numpy()
        qpos, qvel = self.qpos[rows].T.copy(), self.qvel[rows].T.copy()
        ball = qpos[ROBOT_NQ:].reshape(MAX_BALLS, 7, -1).swapaxes(0, 1)
        motion = qvel[ROBOT_NV:].reshape(MAX_BALLS, 6, -1).swapaxes(0, 1)
        active = np.arange(MAX_BALLS)[:, None] < self.balls[rows]
        ball[:3] -= qpos[:3, None]
        motion[:3] -= qvel[:3, None]
        qpos, qvel, ball, motion = (x.astype(_dtype()) for x in (qpos, qvel, ball, motion))
        to_world = matrix(qpos[3:7])
        world = np.concatenate([qvel[:3, None], ball[:3], motion[:3]], 1)
        local = np.einsum("ijn,ibn->jbn", to_world, world)
        position, velocity = local[:, 1 : 1 + MAX_BALLS], local[:, 1 + MAX_BALLS :]
        rotation = upper(multiply(conjugate(qpos[3:7, None]), ball[3:]))
        turning = rotate(rotation, motion[3:]) - qvel[3:6, None]
        joints = _leg_joints(qpos[7:ROBOT_NQ]), _leg_joints(qvel[6:ROBOT_NV])
        robot = np.concatenate([qvel[3:6], -to_world[2], *joints, qpos[2:3], local[:, 0]])
        balls = np.concatenate([position, velocity, rotation, turning]) * active
        return TransportState(
            robot=torch.from_numpy(robot.T),
            balls=torch.from_numpy(balls.T),
            ball_contact=torch.from_numpy(self._touches_plate(*position) & active).T,
            ball_active=torch.from_numpy(active).T,
            unstable=torch.from_numpy(self.unstable[rows].copy()),
        )

    def _touches_plate(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        resting = np.abs(z - (ROBOT.plate_height + BALL_RADIUS)) < self.contact_gap
        return resting & (np.abs(x) < HALF_PLATE[0]) & (np.abs(y) < HALF_PLATE[1])

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all states."""
        return {name: torch.from_numpy(value.copy()) for name, value in self._arrays.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to a snapshot."""
        for name, value in self._arrays.items():
            value[:] = state[name].numpy()

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in STATE}

    def close(self) -> None:
        """End the threads of the pool."""
        self.pool.close()
