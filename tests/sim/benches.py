"""Simulators on a test bench: built alike, and put into a given world state behind their back."""

from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from s2m.config.sim import IsaacLabCfg, MujocoCfg, WarpCfg
from s2m.config.task import SpawnCfg
from s2m.robot.model import MAX_BALLS, ROBOT
from s2m.task.spawn import spawn

GAP = 0.0025


@dataclass
class Body:
    """A rigid body in the world; velocities of its origin, quaternion (w, x, y, z)."""

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray

    @property
    def turn(self) -> Rotation:
        return Rotation.from_quat(self.rotation[[1, 2, 3, 0]])


@dataclass
class Scenery:
    """One environment: robot, joints in the robot's own order, balls."""

    base: Body
    joints: np.ndarray = field(default_factory=lambda: np.zeros(16))
    speeds: np.ndarray = field(default_factory=lambda: np.zeros(16))
    balls: list[Body] = field(default_factory=list)


def at_rest(places, height=0.0):
    """A level robot with resting balls at (x, y) on the plate, lifted by `height`."""
    still, level = np.zeros(3), np.array([1.0, 0, 0, 0])
    up = np.array([0, 0, ROBOT.stance_height])
    lifted = ROBOT.plate_height + 0.055 + height
    balls = [Body(up + [x, y, lifted], level, still, still) for x, y in places]
    return Scenery(Body(up, level, still, still), balls=balls)


class MujocoBench:
    name = "mujoco"
    exact = True
    """A restored snapshot goes on bit for bit."""

    def build(self, n):
        from s2m.sim.mujoco import MujocoSimulator

        return MujocoSimulator(MujocoCfg(), n, GAP)

    def place(self, sim, env, scenery):
        """Write into the padded state; numbers become what the simulator keeps them in."""
        base = scenery.base
        sim.qpos[env] = 0.0
        sim.qvel[env] = 0.0
        _put(sim.qpos, env, 0, *base.position, *base.rotation, *scenery.joints)
        turning = base.turn.inv().apply(base.spin)
        _put(sim.qvel, env, 0, *base.velocity, *turning, *scenery.speeds)
        for i, ball in enumerate(scenery.balls):
            _put(sim.qpos, env, 23 + 7 * i, *ball.position, *ball.rotation)
            _put(sim.qvel, env, 22 + 6 * i, *ball.velocity, *ball.turn.inv().apply(ball.spin))

    def break_down(self, sim, env):
        sim.qvel[env, 3] = np.nan


def _put(rows, env, start, *values):
    """Write numbers into a row of an array or tensor."""
    for i, value in enumerate(values):
        rows[env, start + i] = float(value)


class WarpBench(MujocoBench):
    """MuJoCo Warp on the CPU, kernel by kernel or as a captured graph."""

    name = "warp"

    def __init__(self, graph, simulator=None):
        self.graph, self.simulator = graph, simulator

    def build(self, n):
        from s2m.sim.warp import WarpSimulator

        cfg = WarpCfg(device="cpu", graph=self.graph)
        return (self.simulator or WarpSimulator)(cfg, n, GAP)


class IsaacLabBench:
    name = "isaaclab"
    exact = False

    def __init__(self, kit, simulator=None):
        self.kit, self.simulator = kit, simulator

    def build(self, n):
        from s2m.sim.isaaclab import IsaacLabSimulator

        return (self.simulator or IsaacLabSimulator)(IsaacLabCfg(device="cpu"), n)

    def place(self, sim, env, scenery):
        """Write into the state store as PhysX keeps it, then let the adapter's views expire."""
        world, base = self.kit.world, scenery.base
        origin = sim.scene.env_origins[env].numpy()
        com = base.turn.apply(world.base_com.numpy())
        velocity = base.velocity + np.cross(base.spin, com)
        world.base[env] = _row(base.position + origin, base.rotation[[1, 2, 3, 0]])
        world.base_velocity[env] = _row(velocity, base.spin)
        order = [ROBOT.joints.index(joint) for joint in world.joints]
        world.angle[env] = torch.tensor(scenery.joints[order]).float()
        world.speed[env] = torch.tensor(scenery.speeds[order]).float()
        for i, ball in enumerate(scenery.balls):
            world.ball[i, env] = _row(ball.position + origin, ball.rotation[[1, 2, 3, 0]])
            world.ball_velocity[i, env] = _row(ball.velocity, ball.spin)
        sim.scene.update(1e-3)

    def break_down(self, sim, env):
        self.kit.world.base_velocity[env, 3] = np.nan


def _row(*parts):
    return torch.tensor(np.concatenate(parts)).float()


def make(bench, counts, seed=0, **changes):
    """Build and reset a simulator with so many balls in its environments."""
    counts = torch.tensor(counts)
    beginnings = spawn(SpawnCfg(**changes), counts, torch.Generator().manual_seed(seed))
    sim = bench.build(len(counts))
    sim.reset(torch.arange(len(counts)), beginnings)
    return sim, beginnings


def still(n):
    return torch.zeros(n, 12), torch.zeros(n, 4)


def slots(k):
    return torch.arange(MAX_BALLS) < k
