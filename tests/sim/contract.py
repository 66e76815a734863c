"""What the task relies on, whatever the simulator: each check builds its own on a bench."""

import inspect
import sys

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from s2m.config.env import EnvCfg
from s2m.config.sim import BallPhysicsCfg
from s2m.config.task import CommandCfg, SpawnCfg, TaskCfg
from s2m.env.transport import TransportEnv
from s2m.robot.model import BALL_RADIUS, GRAVITY, MAX_BALLS, ROBOT
from s2m.task.commands import WheelKinematics
from s2m.task.spawn import spawn
from s2m.task.state import Spawn

from .benches import Body, Scenery, at_rest, make, slots, still

REST = ROBOT.plate_height + BALL_RADIUS
LEGS = [ROBOT.joints.index(joint) for joint in ROBOT.leg_joints]


NAMES = (
    "base_height", "gravity", "linear_velocity", "angular_velocity", "joint_position",
    "joint_velocity", "ball_position", "ball_velocity", "ball_rotation", "ball_angular_velocity",
    "ball_contact", "ball_active", "unstable",
)  # fmt: skip
"""Everything that a TransportState tells."""


def _values(state):
    return {name: getattr(state, name) for name in NAMES}


def _body(random, near):
    return Body(
        near + random.normal(size=3) * 0.1,
        Rotation.random(rng=random).as_quat()[[3, 0, 1, 2]],
        random.normal(size=3),
        random.normal(size=3) * 2,
    )


def check_frames_units_and_orders(bench):
    """A turned, moving robot with turned, moving balls reads as computed by a second library."""
    random = np.random.default_rng(0)
    counts = [1, 3, 5]
    sim, _ = make(bench, counts)
    for env, k in enumerate(counts):
        place = np.array([0.3, -0.2, 0.5])
        scenery = Scenery(
            _body(random, place), random.uniform(-0.5, 0.5, 16), random.normal(size=16),
            [_body(random, place) for _ in range(k)],
        )  # fmt: skip
        bench.place(sim, env, scenery)
        state = _values(sim.read(torch.tensor([env])))
        base, inverse = scenery.base, scenery.base.turn.inv()

        def same(name, expected, state=state):
            assert state[name][0].numpy() == pytest.approx(expected, abs=2e-5), name

        same("base_height", base.position[2:])
        same("gravity", inverse.apply([0, 0, -1]))
        same("linear_velocity", inverse.apply(base.velocity))
        same("angular_velocity", inverse.apply(base.spin))
        same("joint_position", scenery.joints[LEGS])
        same("joint_velocity", scenery.speeds[LEGS])
        seen = {
            "ball_position": [inverse.apply(b.position - base.position) for b in scenery.balls],
            "ball_velocity": [inverse.apply(b.velocity - base.velocity) for b in scenery.balls],
            "ball_angular_velocity": [inverse.apply(b.spin - base.spin) for b in scenery.balls],
            "ball_rotation": [_upper(inverse * b.turn) for b in scenery.balls],
        }
        for name, rows in seen.items():
            same(name, np.pad(np.array(rows), ((0, MAX_BALLS - k), (0, 0))))


def _upper(rotation):
    quaternion = rotation.as_quat()[[3, 0, 1, 2]]
    return -quaternion if quaternion[0] < 0 else quaternion


def check_types(bench):
    sim, _ = make(bench, [2, 4])
    state = _values(sim.read())
    assert sim.num_envs == 2 and sim.dt == pytest.approx(0.02)
    for name, value in state.items():
        kind = bool if name in ("ball_contact", "ball_active", "unstable") else float
        expected = torch.bool if kind is bool else torch.get_default_dtype()
        assert value.dtype == expected and value.device == sim.device, name
        assert len(value) == 2 and len(getattr(sim.read(torch.tensor([1])), name)) == 1, name


def check_reset_puts_everything_in_its_place(bench):
    counts = [1, 3, 5, 2]
    sim, begin = make(bench, counts)
    state = sim.read()
    on = torch.stack([slots(k) for k in counts])
    assert torch.equal(state.ball_active, on)
    assert torch.equal(state.ball_contact, on)
    assert torch.allclose(state.gravity, torch.tensor([0.0, 0.0, -1.0]), atol=2e-3)
    assert torch.allclose(state.base_height, torch.tensor(ROBOT.stance_height), atol=2e-3)
    pose = torch.tensor(ROBOT.default_pose).float()
    assert torch.allclose(state.joint_position, pose, atol=0.01)
    for name in ("linear_velocity", "angular_velocity", "joint_velocity"):
        assert not getattr(state, name).any(), name
    expected = torch.full((4, MAX_BALLS, 3), REST)
    expected[..., :2] = begin.position
    assert torch.allclose(state.ball_position[on], expected[on], atol=2e-3)
    assert torch.allclose(state.ball_velocity[on][:, :2], begin.velocity[on], atol=2e-3)
    turned = torch.where(begin.rotation[..., :1] < 0, -begin.rotation, begin.rotation)
    assert torch.allclose(state.ball_rotation[on], turned[on], atol=5e-3)
    # Rolling without slipping: the contact point, one radius below the centre, is at rest.
    arm = torch.tensor([0.0, 0.0, -BALL_RADIUS]).expand_as(state.ball_velocity)
    slip = state.ball_velocity + torch.linalg.cross(state.ball_angular_velocity, arm)
    assert slip[on].abs().max() < 1e-3


def check_inactive_slots_are_zero(bench):
    sim, _ = make(bench, [2, 1])
    for _ in range(3):
        sim.step(*still(2))
    for name, value in _values(sim.read()).items():
        if name.startswith("ball_"):
            assert not value[0, 2:].any() and not value[1, 1:].any(), name


def check_reset_touches_only_the_chosen(bench):
    sim, _ = make(bench, [2, 2, 2])
    for _ in range(5):
        sim.step(torch.full((3, 12), 0.02), torch.ones(3, 4))
    before = _values(sim.read())
    begin = spawn(SpawnCfg(), torch.tensor([4]), torch.Generator().manual_seed(5))
    begin.velocity[:] = torch.tensor([0.06, 0.03])
    sim.reset(torch.tensor([1]), begin)
    after = _values(sim.read())
    for name in before:
        assert torch.equal(before[name][[0, 2]], after[name][[0, 2]]), name
    assert after["ball_active"].sum(1).tolist() == [2, 4, 2]
    assert torch.allclose(after["ball_position"][1, :4, :2], begin.position[0, :4], atol=2e-3)
    sim.step(*still(3))
    state = sim.read()
    assert state.ball_contact.sum(1).tolist() == [2, 4, 2]
    # The two that came in addition roll as well.
    rolled = (state.ball_position - after["ball_position"])[1, :4, :2]
    assert torch.allclose(rolled, begin.velocity[0, :4] * sim.dt, atol=3e-4)


def check_contact_needs_touch(bench):
    """Resting, lifted, and beside the plate."""
    sim, _ = make(bench, [1, 1, 1])
    bench.place(sim, 0, at_rest([(0.0, 0.0)]))
    bench.place(sim, 1, at_rest([(0.0, 0.0)], height=0.03))
    bench.place(sim, 2, at_rest([(0.2, 0.0)]))
    sim.step(*still(3))
    assert sim.read().ball_contact[:, 0].tolist() == [True, False, False]


def check_each_slot_has_its_own_contact(bench):
    sim, _ = make(bench, [3])
    places = [(-0.06, 0.0), (0.0, 0.0), (0.06, 0.0)]
    scenery = at_rest(places)
    scenery.balls[1].position = scenery.balls[1].position + [0, 0, 0.15]
    scenery.balls[0].position = scenery.balls[0].position + [-0.2, 0, 0]
    bench.place(sim, 0, scenery)
    sim.step(*still(1))
    assert sim.read().ball_contact[0].tolist() == [False, False, True, False, False]


def check_contact_is_fresh_after_a_reset(bench):
    """Neither the touch nor the absence of the last episode survives it."""
    sim, _ = make(bench, [1, 5])
    bench.place(sim, 0, at_rest([(0.0, 0.0)], height=0.05))
    sim.step(*still(2))
    assert sim.read().ball_contact.sum(1).tolist() == [0, 5]
    begin = spawn(SpawnCfg(), torch.tensor([5, 1]), torch.Generator())
    sim.reset(torch.tensor([0, 1]), begin)
    assert sim.read().ball_contact.sum(1).tolist() == [5, 1]


def check_stands_and_holds_its_balls(bench):
    """Zero targets mean the default pose: the simulator carries the weight."""
    sim, _ = make(bench, [1, 5], speed=0.0)
    for _ in range(50):
        sim.step(*still(2))
    state = sim.read()
    assert state.joint_position.abs().max() < 0.01
    assert (state.base_height - ROBOT.stance_height).abs().max() < 3e-3
    assert state.ball_contact.sum(1).tolist() == [1, 5]
    assert not state.unstable.any()


def check_each_target_moves_its_own_joint(bench):
    """Also where the numbers of balls are mixed, and environments are stepped in groups."""
    sim, _ = make(bench, [1 + env % MAX_BALLS for env in range(12)])
    rest = sim.read().joint_position
    for _ in range(15):
        sim.step(torch.eye(12) * 0.05, torch.zeros(12, 4))
    moved = sim.read().joint_position - rest
    assert torch.equal(moved.abs().argmax(1), torch.arange(12))
    assert (moved.diagonal() > 0.02).all()


def check_tilt(bench):
    """All thighs pitch the plate nose down, all abductions roll it to the left."""
    sim, _ = make(bench, [1, 1])
    targets = torch.zeros(2, 12)
    targets[0, 1::3] = -0.07 * ROBOT.tilt_ratio
    targets[1, 0::3] = 0.07 * ROBOT.tilt_ratio
    for _ in range(15):
        sim.step(targets, torch.zeros(2, 4))
    gravity = sim.read().gravity
    assert gravity[0, 0].item() == pytest.approx(0.07, abs=0.01)
    assert gravity[1, 1].item() == pytest.approx(0.07, abs=0.01)


def check_wheels_drive_as_they_steer(bench):
    """Forwards, aslant and on the spot, with the steering and hub speeds of the task."""
    goal = torch.tensor([[0.25, 0.0, 0.0], [0.15, 0.1, 0.0], [0.0, 0.0, 0.3]])
    sim, _ = make(bench, [1, 1, 1])
    wheels = WheelKinematics(CommandCfg(), ROBOT, 3, sim.dt, "cpu")
    targets = torch.zeros(3, 12)
    for step in range(60):
        targets[:, 2::3], hubs = wheels.advance(goal * min(1.0, (step + 1) / 40))
        sim.step(targets, hubs)
    state = sim.read()
    driven = torch.cat([state.linear_velocity[:, :2], state.angular_velocity[:, 2:]], 1)
    assert torch.allclose(driven, goal, atol=0.02)


def check_a_rolling_ball_travels_and_is_braked(bench):
    """Coulomb rolling resistance: v' = -5/7 g c / r, over the control period of 20 ms."""
    sim, _ = make(bench, [1])
    scenery = at_rest([(-0.02, 0.0)])
    scenery.balls[0].velocity = np.array([0.1, 0.0, 0.0])
    scenery.balls[0].spin = np.array([0.0, 0.1 / BALL_RADIUS, 0.0])
    bench.place(sim, 0, scenery)
    start = sim.read().ball_position[0, 0, 0].item()
    for _ in range(10):
        sim.step(*still(1))
    state = sim.read()
    braking = 5 / 7 * GRAVITY * BallPhysicsCfg().rolling / BALL_RADIUS
    assert state.ball_velocity[0, 0, 0].item() == pytest.approx(0.1 - 0.2 * braking, abs=0.006)
    travelled = state.ball_position[0, 0, 0].item() - start
    assert travelled == pytest.approx(0.02 - braking * 0.02, abs=0.002)


def check_a_snapshot_brings_everything_back(bench):
    sim, _ = make(bench, [2, 5])
    action = torch.full((2, 12), 0.01), torch.ones(2, 4)
    for _ in range(5):
        sim.step(*action)
    saved, before = sim.snapshot(), _values(sim.read())
    kept = {name: value.clone() for name, value in saved.items()}

    def go_on():
        for _ in range(5):
            sim.step(*action)
        return _values(sim.read())

    first = go_on()
    sim.reset(torch.arange(2), spawn(SpawnCfg(), torch.tensor([4, 1]), torch.Generator()))
    sim.restore(saved)
    assert all(torch.equal(saved[name], kept[name]) for name in kept)
    again, tolerance = _values(sim.read()), 0.0 if bench.exact else 1e-5
    second = go_on()
    for name in before:
        assert torch.allclose(before[name].float(), again[name].float(), atol=tolerance), name
        assert torch.allclose(first[name].float(), second[name].float(), atol=tolerance), name


def check_a_breakdown_is_told_and_healed(bench):
    sim, _ = make(bench, [2, 2])
    sim.step(*still(2))
    before = sim.read()
    bench.break_down(sim, 1)
    sim.step(*still(2))
    state = sim.read()
    assert state.unstable.tolist() == [False, True] and not before.unstable.any()
    assert torch.allclose(state.ball_position[1], before.ball_position[1], atol=1e-6)
    for name in ("linear_velocity", "angular_velocity", "joint_velocity", "ball_velocity"):
        assert not getattr(state, name)[1].any(), name
    assert all(torch.isfinite(value).all() for value in _values(state).values())
    sim.reset(torch.tensor([1]), spawn(SpawnCfg(), torch.tensor([2]), torch.Generator()))
    assert not sim.read().unstable.any()
    sim.step(*still(2))
    assert not sim.read().unstable.any()


def check_states_are_never_changed_later(bench):
    sim, begin = make(bench, [3, 3])
    states = [sim.read(), sim.read(torch.tensor([0, 1]))]
    copies = [{name: v.clone() for name, v in _values(state).items()} for state in states]
    sim.step(torch.full((2, 12), 0.02), torch.ones(2, 4))
    moved = Spawn(begin.count, begin.position + 0.001, begin.velocity, begin.rotation)
    sim.reset(torch.arange(2), moved)
    for state, copy in zip(states, copies, strict=True):
        for name, value in _values(state).items():
            assert torch.equal(value, copy[name]), name


def check_time_out_and_drop(bench):
    """An episode ends by its time-out or by a drop, and the task can tell one from the other."""
    sim = bench.build(2)
    cfg = EnvCfg(num_envs=2, task=TaskCfg(episode_steps=8))
    env = TransportEnv(cfg, balls=torch.tensor([1, 1]), simulator=sim)
    for _ in range(4):
        env.step(torch.zeros(2, 12))
    bench.place(sim, 1, at_rest([(0.3, 0.0)], height=-REST - 0.01))
    _, _, done, extras = env.step(torch.zeros(2, 12))
    assert done.tolist() == [0, 1] and not extras["time_outs"].any()
    assert env.outcome.dropped.tolist() == [False, True]
    # The one that dropped begins anew within the step, with its ball in contact.
    assert env.state.ball_contact[:, 0].all()
    for _ in range(3):
        _, _, done, extras = env.step(torch.zeros(2, 12))
    assert done.tolist() == [1, 0] and extras["time_outs"].tolist() == [True, False]
    assert not env.outcome.terminated.any()


CHECKS = [
    check
    for name, check in inspect.getmembers(sys.modules[__name__], inspect.isfunction)
    if name.startswith("check_")
]
