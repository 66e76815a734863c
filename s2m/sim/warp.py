"""MuJoCo Warp on one GPU, or on the CPU to prove it: the model of `mujoco.py`, all state in torch.

One engine model is made per number of balls, as in `mujoco.py`. States are kept padded to five
balls; a control step copies each number's rows into the engine's arrays, which torch shares, and
back. Nothing of it waits for the host.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from s2m.config.sim import WarpCfg
from s2m.console.errors import UserError
from s2m.robot.model import BALL_RADIUS, LEGS, MAX_BALLS, ROBOT
from s2m.sim.mujoco_model import NQ, NV, ROBOT_NQ, ROBOT_NV, STATE, compile_model, settle
from s2m.task.geometry import HALF_PLATE
from s2m.task.rotation import conjugate, multiply, rotate, upper
from s2m.task.state import Spawn, TransportState

try:
    import mujoco_warp as mjw
    import warp as wp
except ModuleNotFoundError as error:
    raise UserError(
        f"sim=warp needs the package {error.name}: pip install -e '.[warp]', or use sim=mujoco"
    ) from error

wp.config.log_level = wp.LOG_WARNING  # neither a greeting nor a line per module
CAPS = int(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
"""Bits of the engine's `overflow` that mean an unsolved step; all others mean lost contacts."""


def _driver() -> str:
    """Say which CUDA the driver and Warp are for: Warp sees no card if the driver is older."""
    found, built = wp.get_cuda_driver_version(), wp.get_cuda_toolkit_version()
    if found is None or built is None:
        return "there is no NVIDIA driver"
    return f"a driver for CUDA {found[0]}.{found[1]}, Warp is built with {built[0]}.{built[1]}"


def find_device(name: str, *, graph: bool) -> wp.Device:
    """Return the engine's device, or say why it cannot be used."""
    cards = [card.alias for card in wp.get_cuda_devices()]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in ("cpu", *cards):
        raise UserError(
            f"sim.device = {name}: allowed here {', '.join(['cpu', *cards])} ({_driver()}); "
            "on a machine without a GPU use sim=mujoco"
        )
    device = wp.get_device(wanted)
    if graph and device.is_cuda:
        if not wp.is_conditional_graph_supported():
            raise UserError(
                "sim.graph = true: the solver's loop in a graph needs a driver for CUDA 12.4 or "
                "later; update it, or set sim.graph=false, which waits for the host a lot"
            )
        if not wp.is_mempool_enabled(device):
            raise UserError(
                f"sim.graph = true: {name} has no memory pool, which a graph allocates from; "
                "set sim.graph=false"
            )
    return device


def view(array: wp.array) -> Tensor:
    """Return a tensor that shares the memory of an engine's array."""
    return wp.to_torch(array, requires_grad=False)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Suspend garbage collection: freeing an array of the device would spoil a capture."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass
class Group:
    """The environments with k balls, in the engine."""

    k: int
    rows: slice | Tensor
    model: mjw.Model
    data: mjw.Data
    qpos: Tensor
    qvel: Tensor
    warmstart: Tensor
    control: Tensor
    overflow: Tensor
    """(m,) bits that the engine sets and never clears."""
    advance: Callable[[], None]
    """Makes the physics steps of one control step."""


class WarpSimulator:
    """The `Simulator` of machines with a GPU."""

    def __init__(self, cfg: WarpCfg, num_envs: int, contact_gap: float, **_: object) -> None:
        """Prepare `num_envs` environments; they are unusable until their first reset."""
        self.cfg, self.num_envs, self.contact_gap = cfg, num_envs, contact_gap
        self.engine = find_device(cfg.device, graph=cfg.graph)
        self.device = torch.device(cfg.device)
        self.dt = cfg.dt
        self.models: dict[int, tuple[mujoco.MjModel, mjw.Model]] = {}
        self.groups: list[Group] = []

        self.balls = self._zeros(num_envs, dtype=torch.long)
        self.qpos, self.qvel = self._zeros(num_envs, NQ), self._zeros(num_envs, NV)
        self.warmstart = self._zeros(num_envs, NV)
        """Last accelerations, from which the solver starts."""
        self.unstable = self._zeros(num_envs, dtype=torch.bool)
        self.capped = self._zeros(num_envs, dtype=torch.bool)
        """(n,) whether the solver met one of its caps in the last step."""
        self.lost = self._zeros(num_envs, dtype=torch.int32)
        """(n,) bits of what the engine had no room for, since the start."""
        self.unsolved = self._zeros()

        self.offsets = self._zeros(MAX_BALLS + 1, 12)
        """(6, 12) joint-target offsets that carry the weight, by number of balls."""
        self.rest = self._zeros(MAX_BALLS + 1, ROBOT_NQ)
        """(6, 23) robot at rest, by number of balls."""
        self.ball_height = self._zeros(MAX_BALLS + 1)
        """(6,) height of a resting ball's centre over the plate, by number of balls."""
        self.slots = torch.arange(MAX_BALLS, device=self.device)
        self.up = self._constant([0.0, 0.0, 1.0])
        self.half_plate = self._constant(HALF_PLATE)

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def _constant(self, values: Any) -> Tensor:
        return torch.tensor(np.array(values), dtype=torch.float32, device=self.device)

    def _model(self, k: int) -> tuple[mujoco.MjModel, mjw.Model]:
        """Return the model with k balls, of the host and of the engine; note how it rests."""
        if k not in self.models:
            host = compile_model(k, self.cfg)
            rest = settle(host, k, self.cfg)
            self.offsets[k] = self._constant(rest.offsets)
            self.rest[k] = self._constant(rest.qpos)
            self.ball_height[k] = rest.ball_height
            # The engine never resets by itself, and refuses the flag that forbids it.
            host.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
            with wp.ScopedDevice(self.engine):
                model = mjw.put_model(host)
            # Single precision would stop at 1e-6, too early in the same steps as MuJoCo in C; it
            # converges to the tolerance of C in as many iterations (docs/gpu.md).
            model.opt.tolerance.fill_(self.cfg.tolerance)
            model.opt.warn_overflow = 0  # `step` looks at the bits; kernels need not print
            model.opt.run_qacc_smooth = False  # the solver starts from the warm start anyway
            self.models[k] = host, model
        return self.models[k]

    def _regroup(self) -> None:
        """Give every number of balls that occurs its own batch in the engine."""
        self.groups.clear()  # frees its memory first
        numbers = self.balls.unique().tolist()
        for k in numbers:
            rows = slice(None) if len(numbers) == 1 else (self.balls == k).nonzero().squeeze(-1)
            self.groups.append(self._group(k, rows))

    def _group(self, k: int, rows: slice | Tensor) -> Group:
        host, model = self._model(k)
        with wp.ScopedDevice(self.engine):
            data = mjw.make_data(
                host,
                nworld=self.num_envs if isinstance(rows, slice) else len(rows),
                # Every pair touches in one point at most, so there is room for all of them.
                nconmax=host.npair,
                njmax=int(host.pair_dim.sum() + host.jnt_limited.sum()),
            )
            return Group(
                k, rows, model, data,
                qpos=view(data.qpos),
                qvel=view(data.qvel),
                warmstart=view(data.qacc_warmstart),
                control=view(data.ctrl),
                overflow=view(data.overflow),
                advance=self._advance(model, data),
            )  # fmt: skip

    def _advance(self, model: mjw.Model, data: mjw.Data) -> Callable[[], None]:
        def steps() -> None:
            for _ in range(self.cfg.decimation):
                mjw.step(model, data)

        def launch() -> None:
            with wp.ScopedDevice(self.engine):
                steps()

        if not self.cfg.graph:
            return launch
        steps()  # kernels must be loaded before a capture
        with _no_collection(), wp.ScopedCapture(device=self.engine) as capture:
            steps()
        graph = capture.graph
        assert graph is not None  # the capture has ended
        # Streams of Warp wait for torch's default stream, and it for them.
        return lambda: wp.capture_launch(graph)

    def reset(self, env_ids: Tensor, spawn: Spawn) -> None:
        """Put robots at rest into the default pose and balls onto the plate."""
        changed = (self.balls[env_ids] != spawn.count).any()
        regroup, lost = torch.stack([changed.int(), self.lost.amax()]).tolist()
        self._refuse(lost)
        count = spawn.count
        self.balls[env_ids] = count
        if regroup:
            self._regroup()
        rest, m = self.rest[count], len(count)
        on = (self.slots < count.unsqueeze(-1)).unsqueeze(-1)
        ball, motion = self._zeros(m, MAX_BALLS, 7), self._zeros(m, MAX_BALLS, 6)
        ball[..., :2] = rest[:, None, :2] + spawn.position
        ball[..., 2] = (rest[:, 2] + ROBOT.plate_height + self.ball_height[count]).unsqueeze(-1)
        ball[..., 3:] = spawn.rotation
        motion[..., :2] = spawn.velocity
        # Rolling with v is turning with (e_z x v) / r; free joints take it in the ball's frame.
        spin = torch.linalg.cross(self.up.expand(m, MAX_BALLS, 3), motion[..., :3]) / BALL_RADIUS
        motion[..., 3:] = rotate(conjugate(ball[..., 3:]), spin)
        self.qpos[env_ids] = torch.cat([rest, (ball * on).flatten(1)], 1)
        self.qvel[env_ids] = torch.cat([self._zeros(m, ROBOT_NV), (motion * on).flatten(1)], 1)
        self.warmstart[env_ids] = 0.0
        self.unstable[env_ids] = False

    def step(self, joint_targets: Tensor, hub_speeds: Tensor) -> None:
        """Advance all environments by one control step."""
        targets = joint_targets.to(self.offsets) + self.offsets[self.balls]
        control = torch.cat([targets, hub_speeds.to(targets)], 1)
        for group in self.groups:
            self._step_group(group, control[group.rows])
        self.unsolved = (self.capped & ~self.unstable).float().mean()

    def _step_group(self, group: Group, control: Tensor) -> None:
        rows, nq, nv = group.rows, group.model.nq, group.model.nv
        qpos = self.qpos[rows, :nq]
        group.qpos.copy_(qpos)
        group.qvel.copy_(self.qvel[rows, :nv])
        group.warmstart.copy_(self.warmstart[rows, :nv])
        group.control.copy_(control)
        group.overflow.zero_()
        group.advance()
        # Comparisons with NaN are false.
        largest = torch.maximum(group.qpos.abs().amax(1), group.qvel.abs().amax(1))
        sound = largest < self.cfg.max_speed
        on = sound.unsqueeze(-1)
        self.qpos[rows, :nq] = torch.where(on, group.qpos, qpos)
        self.qvel[rows, :nv] = torch.where(on, group.qvel, 0.0)
        self.warmstart[rows, :nv] = torch.where(on, group.warmstart, 0.0)
        self.unstable[rows] = ~sound
        self.capped[rows] = (group.overflow & CAPS) != 0
        self.lost[rows] |= group.overflow & ~CAPS

    def _refuse(self, lost: int) -> None:
        """End a simulation whose engine left something out; asked whenever the host waits anyway.

        The buffers have room for every pair, so this is a mistake in their sizes or in the engine.
        """
        if lost:
            raise RuntimeError(
                f"MuJoCo Warp had no room for all contacts ({mjw.OverflowType(lost)!r}): the steps "
                "since the last reset are wrong, and so are the buffer sizes in s2m/sim/warp.py"
            )

    def read(self, env_ids: Tensor | None = None) -> TransportState:
        """Return the state in the base frame."""
        rows = slice(None) if env_ids is None else env_ids
        qpos, qvel = self.qpos[rows], self.qvel[rows]
        active = self.slots < self.balls[rows].unsqueeze(-1)
        inverse = conjugate(qpos[:, None, 3:7])
        ball = qpos[:, ROBOT_NQ:].unflatten(1, (MAX_BALLS, 7))
        motion = qvel[:, ROBOT_NV:].unflatten(1, (MAX_BALLS, 6))
        own = torch.stack([qvel[:, :3], -self.up.expand(len(qpos), 3)], 1)
        place, velocity = ball[..., :3] - qpos[:, None, :3], motion[..., :3] - qvel[:, None, :3]
        local = rotate(inverse, torch.cat([own, place, velocity], 1))
        own, position, velocity = local.split([2, MAX_BALLS, MAX_BALLS], 1)
        rotation = upper(multiply(inverse, ball[..., 3:]))
        turning = rotate(rotation, motion[..., 3:]) - qvel[:, None, 3:6]
        joints = [
            x.unflatten(1, (len(LEGS), 4))[..., :3].flatten(1)
            for x in (qpos[:, 7:ROBOT_NQ], qvel[:, 6:ROBOT_NV])
        ]
        robot = torch.cat([qvel[:, 3:6], own[:, 1], *joints, qpos[:, 2:3], own[:, 0]], 1)
        balls = torch.cat([position, velocity, rotation, turning], -1) * active.unsqueeze(-1)
        dtype = torch.get_default_dtype()
        return TransportState(
            robot=robot.to(dtype),
            balls=balls.to(dtype),
            ball_contact=self._touches_plate(position) & active,
            ball_active=active,
            unstable=self.unstable[rows].clone(),
        )

    def _touches_plate(self, position: Tensor) -> Tensor:
        resting = (position[..., 2] - (ROBOT.plate_height + BALL_RADIUS)).abs() < self.contact_gap
        return resting & (position[..., :2].abs() < self.half_plate).all(-1)

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all states, named and laid out as those of MuJoCo in C."""
        self._refuse(int(self.lost.amax()))
        return {name: getattr(self, name).clone() for name in STATE}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to a snapshot of this simulator, or of MuJoCo in C."""
        for name in STATE:
            getattr(self, name).copy_(state[name])
        self._regroup()

    def close(self) -> None:
        """Free the engine's memory."""
        self.groups.clear()
        self.models.clear()
