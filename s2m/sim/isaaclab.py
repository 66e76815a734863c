"""Isaac Lab (PhysX) on a GPU: thousands of environments in one scene.

An own loop over SimulationContext and InteractiveScene; the task owns everything else. All state
stays on the device. docs/isaaclab.md says what of this was run, and on what.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from s2m.config.sim import BallPhysicsCfg, IsaacLabCfg
from s2m.robot.model import BALL_RADIUS, GRAVITY, MAX_BALLS, ROBOT
from s2m.robot.urdf import urdf
from s2m.sim.isaaclab_app import STALL_SECONDS, Watchdog, start_app
from s2m.task.geometry import support_margin
from s2m.task.state import Spawn, TransportState

if TYPE_CHECKING:
    from isaaclab.assets import (  # pyright: ignore[reportMissingImports]
        Articulation,
        RigidObjectCollection,
    )
    from isaaclab.sensors import ContactSensor  # pyright: ignore[reportMissingImports]


def rolling_torque(
    spin: Tensor, normal: Tensor, load: Tensor, ball: BallPhysicsCfg, dt: float
) -> Tensor:
    """Torque (n, N, 3) of Coulomb rolling and torsional friction, which PhysX does not have.

    `spin` (n, N, 3) is the angular velocity of the balls over the plate, `normal` (n, 1, 3) the
    plate's, `load` (n, N) the force between them. A step can at most stop a motion, not reverse it.
    """
    moment = ball.mass * BALL_RADIUS**2
    twist = (spin * normal).sum(-1, keepdim=True) * normal

    def brake(rate: Tensor, arm: float, inertia: float) -> Tensor:
        speed = rate.norm(dim=-1, keepdim=True)
        torque = torch.minimum(arm * load.unsqueeze(-1), inertia * speed / dt)
        return -torque * rate / speed.clamp(min=1e-9)

    # A rolling ball turns about its contact point (7/5 m r^2), a spinning one about its centre.
    return brake(spin - twist, ball.rolling, 1.4 * moment) + brake(twist, ball.spin, 0.4 * moment)


class IsaacLabSimulator:
    """The `Simulator` of the GPU cluster; one at a time in a process."""

    def __init__(self, cfg: IsaacLabCfg, num_envs: int, **_: object) -> None:
        """Start the application if need be and build the scene; contacts come from its sensors."""
        start_app(cfg.device)
        self.cfg, self.num_envs = cfg, num_envs
        self.dt = cfg.dt
        self.closed = False
        self.assets = tempfile.TemporaryDirectory(prefix="s2m-")
        """The robot as URDF and as USD, to which the scene refers."""
        self.watchdog = Watchdog(STALL_SECONDS)
        self.watchdog.feed()
        try:
            self._build_scene()
            self._prepare()
        except BaseException:
            self.watchdog.stop()
            self.assets.cleanup()
            raise

    def _build_scene(self) -> None:
        # None of these can be imported before the application runs.
        from isaaclab.scene import InteractiveScene  # pyright: ignore[reportMissingImports]
        from isaaclab.sim import (  # pyright: ignore[reportMissingImports]
            SimulationContext,
            create_new_stage,
        )
        from isaaclab.utils import math  # pyright: ignore[reportMissingImports]

        from s2m.sim.isaaclab_scene import scene_cfg, simulation_cfg

        self.math = math
        create_new_stage()
        self.context = SimulationContext(simulation_cfg(self.cfg))
        self.device = torch.device(self.context.device)
        path = Path(self.assets.name) / "s2m.urdf"
        path.write_text(urdf(ROBOT))
        self.scene = InteractiveScene(scene_cfg(self.cfg, self.num_envs, str(path)))
        self.context.reset()
        self.robot: Articulation = self.scene["robot"]
        self.balls: RigidObjectCollection = self.scene["balls"]
        self.plate: ContactSensor = self.scene["plate"]

    def _prepare(self) -> None:
        """Look up names and set aside what does not change."""
        from s2m.sim.isaaclab_scene import NAMES, parking_place

        cfg, num_envs, device = self.cfg, self.num_envs, self.device
        # PhysX orders joints and bodies by their depth in the tree.
        legs, hubs = ROBOT.leg_joints, ROBOT.hub_joints
        self.leg_ids = self._joint_ids([joint.name for joint in legs])
        self.hub_ids = self._joint_ids([joint.name for joint in hubs])
        base, _ = self.robot.find_bodies("base")
        self.base_com = self.robot.data.body_com_pos_b[:, base[0]].clone()
        """(n, 3) centre of mass of the base; kept, as the engine would fetch it from the host."""
        if self.balls.object_names != NAMES:
            raise RuntimeError(f"balls are {self.balls.object_names}, expected {NAMES}")
        offsets = np.array([ROBOT.gravity_offsets(k * cfg.ball.mass) for k in range(MAX_BALLS + 1)])
        self.offsets = torch.tensor(offsets, dtype=torch.float32, device=device)
        """(6, 12) joint-target offsets that carry the weight, by number of balls."""
        self.up = torch.tensor([0.0, 0.0, 1.0], device=device)
        self.slots = torch.arange(MAX_BALLS, device=device)
        self.bodies = torch.arange(num_envs * MAX_BALLS, device=device)
        self.no_force = torch.zeros(num_envs * MAX_BALLS, 3, device=device)
        places = [parking_place(slot) for slot in range(MAX_BALLS)]
        self.parking = torch.zeros(num_envs, MAX_BALLS, 13, device=device)
        """(n, N, 13) states of balls that wait, in the world."""
        self.parking[..., :3] = self.scene.env_origins.unsqueeze(1) + torch.tensor(
            places, device=device
        )
        self.parking[..., 3] = 1.0

        self.count = torch.zeros(num_envs, dtype=torch.long, device=device)
        self.contact = torch.zeros(num_envs, MAX_BALLS, dtype=torch.bool, device=device)
        """(n, N) which balls touched the plate in the last control step, or were put on it."""
        self.load = torch.zeros(num_envs, MAX_BALLS, device=device)
        """(n, N) force of each ball on the plate, N."""
        self.unstable = torch.zeros(num_envs, dtype=torch.bool, device=device)
        self.unsolved = None  # PhysX does not tell
        self.waiting: list[tuple[Tensor, Tensor]] = []
        """Environments and slots of the balls that wait, as rectangles."""
        self._find_waiting()

    def _joint_ids(self, names: list[str]) -> Tensor:
        found, _ = self.robot.find_joints(names, preserve_order=True)
        return torch.tensor(found, device=self.device)

    def _find_waiting(self) -> None:
        self.waiting = []
        for k in self.count.unique().tolist():
            if k < MAX_BALLS:
                env_ids = (self.count == k).nonzero().squeeze(-1)
                self.waiting.append((env_ids, self.slots[k:]))

    def reset(self, env_ids: Tensor, spawn: Spawn) -> None:
        """Put robots at rest into the default pose, balls onto the plate and others aside."""
        changed = not torch.equal(self.count[env_ids], spawn.count)
        self.count[env_ids] = spawn.count
        if changed:
            self._find_waiting()
        m = len(env_ids)
        base = torch.zeros(m, 13, device=self.device)
        base[:, :3] = self.scene.env_origins[env_ids]
        base[:, 2] += ROBOT.stance_height
        base[:, 3] = 1.0
        active = self._active()[env_ids]
        balls = torch.where(active.unsqueeze(-1), self._spawned(base, spawn), self.parking[env_ids])
        joints = self.robot.data.default_joint_pos[env_ids]
        self._write(env_ids, base, joints, torch.zeros_like(joints), balls)
        self.scene.reset(env_ids)
        # The sensor goes on telling the forces of the last step until there is another one.
        self.contact[env_ids] = active & (support_margin(spawn.position) > 0)
        self.load[env_ids] = active * (self.cfg.ball.mass * GRAVITY)
        self.unstable[env_ids] = False

    def _spawned(self, base: Tensor, spawn: Spawn) -> Tensor:
        """States (m, N, 13) of balls on level plates, in the world, rolling without slipping."""
        state = torch.zeros(len(base), MAX_BALLS, 13, device=self.device)
        state[..., :3] = base[:, None, :3]
        state[..., :2] += spawn.position
        state[..., 2] += ROBOT.plate_height + BALL_RADIUS
        state[..., 3:7] = spawn.rotation
        state[..., 7:9] = spawn.velocity
        state[..., 10] = -spawn.velocity[..., 1] / BALL_RADIUS
        state[..., 11] = spawn.velocity[..., 0] / BALL_RADIUS
        return state

    def _write(
        self, env_ids: Tensor, base: Tensor, joints: Tensor, speeds: Tensor, balls: Tensor
    ) -> None:
        """Write base (m, 13), joints (m, 16 each, in PhysX's order) and balls (m, N, 13)."""
        self.robot.write_root_link_pose_to_sim(base[:, :7], env_ids=env_ids)
        self.robot.write_root_com_velocity_to_sim(base[:, 7:], env_ids=env_ids)
        self.robot.write_joint_state_to_sim(joints, speeds, env_ids=env_ids)
        self.balls.write_object_state_to_sim(balls, env_ids=env_ids)

    def step(self, joint_targets: Tensor, hub_speeds: Tensor) -> None:
        """Advance all environments by one control step."""
        self.watchdog.feed()
        before = self._physics()
        for env_ids, slots in self.waiting:
            self.balls.write_object_state_to_sim(
                self.parking[env_ids[:, None], slots], env_ids=env_ids, object_ids=slots
            )
        targets = joint_targets.to(self.offsets) + self.offsets[self.count]
        self.robot.set_joint_position_target(targets, joint_ids=self.leg_ids)
        self.robot.set_joint_velocity_target(hub_speeds.to(targets), joint_ids=self.hub_ids)
        touched = torch.zeros_like(self.contact)
        for _ in range(self.cfg.decimation):
            self._resist_rolling()
            self.scene.write_data_to_sim()
            self.context.step(render=False)
            self.scene.update(self.cfg.timestep)
            forces = self.plate.data.force_matrix_w
            assert forces is not None  # the sensor has filters
            self.load = forces[:, 0].norm(dim=-1)
            touched |= self.load > self.cfg.contact_force
        self.contact = touched & self._active()
        self._guard(before)

    def _resist_rolling(self) -> None:
        """Let the plate brake the balls that roll and spin on it, for one physics step."""
        base = self.robot.data.root_link_pose_w[:, 3:]
        normal = self.math.quat_apply(base, self.up.expand(self.num_envs, 3)).unsqueeze(1)
        turning = self.robot.data.root_com_vel_w[:, None, 3:]
        spin = self.balls.data.object_com_vel_w[..., 3:] - turning
        torque = rolling_torque(spin, normal, self.load, self.cfg.ball, self.cfg.timestep)
        self.balls.root_physx_view.apply_forces_and_torques_at_position(
            force_data=self.no_force,
            torque_data=self.balls.reshape_data_to_view(torque),
            position_data=None,
            indices=self.bodies,
            is_global=True,
        )

    def _guard(self, before: dict[str, Tensor]) -> None:
        """Put broken-down environments back to where they were, at rest."""
        after = self._physics()
        speeds = torch.cat(
            [after["base"][:, 7:], after["speeds"], after["balls"][..., 7:].flatten(1)], 1
        )
        places = torch.cat(
            [after["base"][:, :7], after["joints"], after["balls"][..., :7].flatten(1)], 1
        )
        # Comparisons with NaN are false.
        sound = (speeds.abs().amax(1) < self.cfg.max_speed) & torch.isfinite(places).all(1)
        self.unstable = ~sound
        env_ids = self.unstable.nonzero().squeeze(-1)
        if len(env_ids):
            base, balls = before["base"][env_ids], before["balls"][env_ids]
            base[:, 7:], balls[..., 7:] = 0.0, 0.0
            joints = before["joints"][env_ids]
            self._write(env_ids, base, joints, torch.zeros_like(joints), balls)
            self.scene.reset(env_ids)
            self.load[env_ids] = 0.0

    def _active(self) -> Tensor:
        return self.slots < self.count.unsqueeze(-1)

    def read(self, env_ids: Tensor | None = None) -> TransportState:
        """Return the state in the base frame."""
        rows = slice(None) if env_ids is None else env_ids
        robot, balls = self.robot.data, self.balls.data
        # Pose of the link and velocity of the centre of mass are what the engine keeps; Isaac Lab's
        # other views of them are not refreshed by a reset.
        pose, motion = robot.root_link_pose_w[rows], robot.root_com_vel_w[rows]
        ball, roll = balls.object_link_pose_w[rows], balls.object_com_vel_w[rows]
        active = self._active()[rows]
        on, dtype = active.unsqueeze(-1), torch.get_default_dtype()
        base, turning = pose[:, 3:], motion[:, 3:]
        com = self.math.quat_apply(base, self.base_com[rows])
        velocity = motion[:, :3] - torch.linalg.cross(turning, com)
        bases = base.unsqueeze(1).expand(-1, MAX_BALLS, -1)
        rotation = self.math.quat_mul(self.math.quat_conjugate(bases), ball[..., 3:])
        down = -self.up.expand(len(pose), 3)

        def in_base(vectors: Tensor) -> Tensor:
            return self.math.quat_apply_inverse(base, vectors).to(dtype)

        def seen(vectors: Tensor) -> Tensor:
            return (self.math.quat_apply_inverse(bases, vectors) * on).to(dtype)

        return TransportState.of(
            base_height=(pose[:, 2:3] - self.scene.env_origins[rows][:, 2:]).to(dtype),
            gravity=in_base(down),
            linear_velocity=in_base(velocity),
            angular_velocity=in_base(turning),
            joint_position=robot.joint_pos[rows][:, self.leg_ids].to(dtype),
            joint_velocity=robot.joint_vel[rows][:, self.leg_ids].to(dtype),
            ball_position=seen(ball[..., :3] - pose[:, None, :3]),
            ball_velocity=seen(roll[..., :3] - velocity.unsqueeze(1)),
            ball_rotation=(self.math.quat_unique(rotation) * on).to(dtype),
            ball_angular_velocity=seen(roll[..., 3:] - turning.unsqueeze(1)),
            ball_contact=self.contact[rows].clone(),
            ball_active=active.clone(),
            unstable=self.unstable[rows].clone(),
        )

    def _physics(self) -> dict[str, Tensor]:
        """Return copies of what the engine holds, in the world and in PhysX's order."""
        robot, balls = self.robot.data, self.balls.data
        return {
            "base": torch.cat([robot.root_link_pose_w, robot.root_com_vel_w], -1),
            "joints": robot.joint_pos.clone(),
            "speeds": robot.joint_vel.clone(),
            "balls": torch.cat([balls.object_link_pose_w, balls.object_com_vel_w], -1),
        }

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all states but the engine's own caches, which cannot be had."""
        own = {name: getattr(self, name).clone() for name in _OWN}
        return {**self._physics(), **own}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to a snapshot, up to the engine's caches."""
        on_device = {name: value.to(self.device) for name, value in state.items()}
        physics = [on_device[name] for name in ("base", "joints", "speeds", "balls")]
        everyone = torch.arange(self.num_envs, device=self.device)
        self._write(everyone, *physics)
        self.scene.reset(everyone)
        for name in _OWN:
            setattr(self, name, on_device[name].clone())
        self._find_waiting()

    def close(self) -> None:
        """Let go of the scene; the application lives until the process ends."""
        if self.closed:
            return
        self.closed = True
        self.watchdog.stop()
        del self.robot, self.balls, self.plate, self.scene
        self.context.clear_all_callbacks()
        self.context.clear_instance()
        self.assets.cleanup()


_OWN = ("count", "contact", "load", "unstable")
