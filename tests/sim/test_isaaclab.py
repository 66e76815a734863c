"""The Isaac Lab adapter beyond the contract: what it asks the engine for, and whole training."""

import faulthandler
from dataclasses import asdict

import numpy as np
import pytest
import torch

from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.sim import BallPhysicsCfg, IsaacLabCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.console.errors import UserError
from s2m.env.agents import zero
from s2m.env.episodes import run_episodes
from s2m.robot.model import BALL_RADIUS, GRAVITY, MAX_BALLS, ROBOT
from s2m.run import checkpoint
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.status import FINISHED, STOPPED
from s2m.sim.isaaclab import IsaacLabSimulator, rolling_torque
from s2m.stages.execute import execute
from s2m.task.spawn import spawn

CPU = IsaacLabCfg(device="cpu")
BALL = BallPhysicsCfg()


@pytest.fixture
def build(kit):
    """Build simulators and let go of them in the end; only one can be open at a time."""
    built = []

    def make(counts, cfg=CPU):
        sim = IsaacLabSimulator(cfg, len(counts))
        built.append(sim)
        counts = torch.tensor(counts)
        sim.reset(torch.arange(len(counts)), spawn(SpawnCfg(), counts, torch.Generator()))
        return sim

    yield make
    for sim in built:
        sim.close()


def test_the_fake_orders_joints_unlike_us(kit, build):
    """Otherwise nothing here could show that the order is cared for."""
    sim = build([1])
    assert sim.robot.joint_names != [joint.name for joint in ROBOT.joints]
    assert sim.leg_ids.tolist() != sorted(sim.leg_ids.tolist())


def test_robots_stand_at_the_origins_of_their_environments(kit, build):
    sim = build([1] * 9)
    places = kit.world.base[:, :2]
    assert torch.allclose(places, sim.scene.env_origins[:, :2])
    assert torch.pdist(places).min() > 2.4


def test_waiting_balls_stay_up_there_and_apart(kit, build):
    sim = build([1, 3])
    for _ in range(100):
        sim.step(torch.zeros(2, 12), torch.ones(2, 4))
    for env, k in enumerate((1, 3)):
        waiting = kit.world.ball[k:, env, :3]
        assert waiting[:, 2].min() > 9.9
        assert torch.pdist(waiting).min() > 2 * BALL_RADIUS + 0.1
        assert kit.world.ball[:k, env, 2].max() < 1.0


def test_drives_and_limits_are_the_robots(kit, build):
    view = build([1]).robot.root_physx_view
    for i, name in enumerate(view.shared_metatype.dof_names):
        joint = next(joint for joint in ROBOT.joints if joint.name == name)
        told = {
            "dof_stiffnesses": joint.stiffness, "dof_dampings": joint.damping,
            "dof_armatures": joint.armature, "dof_max_forces": joint.effort,
            "dof_max_velocities": joint.velocity,
        }  # fmt: skip
        for prop, value in told.items():
            assert view.properties[prop][0, i].item() == pytest.approx(value), (name, prop)


def test_the_robot_is_imported_free_and_with_its_plate(kit, build):
    build([1])
    asked = kit.robots[-1]
    assert asked["fix_base"] is False and asked["merge_fixed_joints"] is False
    assert asked["collision_from_visuals"] is False and asked["self_collision"] is False


def test_physx_settings(kit, build):
    asked = build([1]).context.parameters
    assert asked["dt"] == 0.005 and asked["device"] == "cpu"
    assert tuple(asked["gravity"]) == (0.0, 0.0, -GRAVITY)
    assert asked["enable_stabilization"] is False
    assert asked["enable_external_forces_every_iteration"] is True
    # Balls on the plate, pairs of balls and wheels of 4096 environments, twice over.
    assert asked["gpu_max_rigid_patch_count"] >= 2 * 4096 * (5 + 10 + 4)


def test_the_application_has_no_window_and_one_gpu(kit):
    assert kit.app_config["headless"] and kit.app_config["multi_gpu"] is False


def test_the_ground_reaches_under_all_environments_and_their_drives(kit):
    from s2m.sim.isaaclab_scene import scene_cfg

    ground = scene_cfg(IsaacLabCfg(), 4096, "/robot.urdf").ground
    x, y, thickness = ground.spawn.size
    assert min(x, y) / 2 > 64 * 2.5 / 2 + 20
    assert ground.init_state.pos[2] == pytest.approx(-thickness / 2)


def test_mean_frictions_are_those_of_the_pairs(kit):
    from s2m.sim.isaaclab_scene import WHEEL_FRICTION, frictions

    ball, robot, ground = frictions(BALL)
    assert ball == BALL.ball_friction
    assert (ball + robot) / 2 == pytest.approx(BALL.friction)
    assert (robot + ground) / 2 == pytest.approx(WHEEL_FRICTION)
    with pytest.raises(UserError, match="can only have 0.1 to 1.1"):
        frictions(BallPhysicsCfg(friction=1.2))


def test_rolling_torque_is_coulombs_and_never_reverses_a_motion():
    up = torch.tensor([[[0.0, 0.0, 1.0]]])
    load = torch.full((1, 1), BALL.mass * GRAVITY)
    spin = torch.tensor([[[3.0, 4.0, 0.0]]])
    torque = rolling_torque(spin, up, load, BALL, 0.005)
    assert torque.norm().item() == pytest.approx(BALL.rolling * BALL.mass * GRAVITY, rel=1e-5)
    assert torch.nn.functional.cosine_similarity(torque, spin, dim=-1).item() == pytest.approx(-1)
    twist = rolling_torque(5 * up, up, load, BALL, 0.005)
    assert twist.flatten().tolist() == pytest.approx([0, 0, -BALL.spin * BALL.mass * GRAVITY])
    slow = 1e-6 * spin
    stopped = rolling_torque(slow, up, load, BALL, 0.005) * 0.005
    assert torch.allclose(stopped, -slow * 1.4 * BALL.mass * BALL_RADIUS**2)
    assert not rolling_torque(spin, up, 0 * load, BALL, 0.005).any()
    assert torch.isfinite(rolling_torque(0 * spin, up, load, BALL, 0.005)).all()


def test_a_second_scene_can_follow_the_first(kit, build):
    first = build([2, 2])
    first.close()
    first.close()
    second = build([3])
    second.step(torch.zeros(1, 12), torch.zeros(1, 4))
    assert second.read().ball_contact.sum() == 3


def test_a_scene_that_fails_leaves_no_watchdog_behind(kit, monkeypatch):
    watched = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *a, **k: watched.append(True))
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", watched.clear)
    monkeypatch.setattr(IsaacLabSimulator, "_build_scene", lambda self: watched[5])
    with pytest.raises(IndexError):
        IsaacLabSimulator(CPU, 1)
    assert not watched


def test_a_state_from_a_checkpoint_on_another_device_is_taken(kit, build):
    sim = build([2, 4])
    saved = {name: value.double() if value.is_floating_point() else value
             for name, value in sim.snapshot().items()}  # fmt: skip
    before = sim.read()
    sim.restore({name: value.float() if value.is_floating_point() else value
                 for name, value in saved.items()})  # fmt: skip
    assert torch.equal(before.ball_position, sim.read().ball_position)


def test_the_papers_budget_brings_its_simulator():
    assert load(RunCfg, ["budget=paper"]).sim.name == "isaaclab"
    assert load(RunCfg, ["budget=paper", "sim=mujoco"]).sim.name == "mujoco"


TINY = [
    "sim=isaaclab", "sim.device=cpu", "budget=demo", "budget.num_envs=8", "budget.steps=6",
    "budget.iterations=4", "budget.checkpoint_every=2", "encoder.width=8", "encoder.embedding=8",
    "ppo.epochs=2", "ppo.mini_batches=2", "task.episode_steps=12", "curriculum.window=8",
    "curriculum.min_stage_episodes=8", "curriculum.min_steps_per_level=12",
    "curriculum.check_steps=6",
]  # fmt: skip


def test_ppo_trains_through_the_real_classes(kit, tmp_path):
    """Whole iterations, a promotion, a stop, and the way on from the checkpoint."""
    folder = RunFolder.create(tmp_path / "run", asdict(load(RunCfg, TINY)))
    (tmp_path / "run" / "stop").touch()
    assert execute(folder, last="train") == STOPPED
    assert execute(folder, last="train") == FINISHED
    rows = Journal(folder).read()
    assert rows["iteration"].tolist() == [1, 2, 3, 4]
    assert np.isfinite(rows["reward/mean"]).all() and np.isfinite(rows["loss/value"]).all()
    assert rows["curriculum/level"].iloc[-1] > 1
    assert "sim/unstable" in rows and "sim/unsolved" not in rows  # PhysX does not tell
    newest = checkpoint.load_latest(folder)
    assert newest is not None and newest.state["env"]["sim"]["balls"].shape == (8, MAX_BALLS, 13)


def test_episodes_are_evaluated_side_by_side(kit):
    cfg = EnvCfg(task=TaskCfg(episode_steps=30), sim=CPU)
    rows = run_episodes(cfg, zero, [1, 3, 5], episodes=2)
    assert [row["k"] for row in rows] == [1, 1, 3, 3, 5, 5]
    assert all(row["no_drop"] and row["steps"] == 30 for row in rows)
