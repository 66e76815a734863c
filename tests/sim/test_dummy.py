"""The simulator without physics does what its few lines promise."""

import pytest
import torch

from s2m.config.sim import DummyCfg
from s2m.robot.model import BALL_RADIUS, LEG_JOINTS, ROBOT
from s2m.sim.dummy import FALL, DummySimulator
from s2m.task.state import Spawn

STILL = torch.zeros(2, 12), torch.zeros(2, 4)


def on(*places):
    """Return how two plates begin, with one ball each."""
    position = torch.zeros(2, 5, 2)
    position[:, 0] = torch.tensor(places)
    rotation = torch.zeros(2, 5, 4)
    rotation[..., 0] = 1.0
    return Spawn(torch.tensor([1, 1]), position, torch.zeros(2, 5, 2), rotation)


@pytest.fixture
def sim():
    sim = DummySimulator(DummyCfg(), 2)
    sim.reset(torch.arange(2), on((0.0, 0.0), (0.05, 0.0)))
    return sim


def legs(**angles):
    targets = torch.zeros(2, 4, 3)
    for joint, angle in angles.items():
        targets[..., LEG_JOINTS.index(joint)] = angle
    return targets.flatten(1)


def test_a_level_plate_at_rest_keeps_its_balls(sim):
    before = sim.read()
    for _ in range(20):
        sim.step(*STILL)
    after = sim.read()
    assert torch.equal(before.ball_position, after.ball_position)
    assert after.ball_position[0, 0, 2].item() == pytest.approx(ROBOT.plate_height + BALL_RADIUS)
    assert after.ball_active.sum(1).tolist() == [1, 1] and not after.ball_position[:, 1:].any()


@pytest.mark.parametrize(("joint", "sign", "axis"), [("thigh", -1, 0), ("abduct", 1, 1)])
def test_balls_roll_to_where_the_plate_is_low(sim, joint, sign, axis):
    for _ in range(5):
        sim.step(legs(**{joint: 0.1}), torch.zeros(2, 4))
    state = sim.read()
    moved = state.ball_position[0, 0, :2] * sign
    assert moved[axis] > 0.001 and moved[1 - axis].abs() < 1e-6
    assert state.gravity[0, axis] * sign > 0
    assert state.gravity.norm(dim=-1).tolist() == pytest.approx([1.0, 1.0])


def test_the_base_moves_as_its_wheels_turn_and_leaves_the_balls_behind(sim):
    sim.step(legs(), torch.full((2, 4), 0.3 / ROBOT.wheel_radius))
    state = sim.read()
    assert state.linear_velocity[0].tolist() == pytest.approx([0.3, 0.0, 0.0], abs=1e-6)
    assert state.angular_velocity[0].abs().max() < 1e-6
    assert state.ball_velocity[0, 0, 0] < 0


def test_wheels_on_a_circle_turn_the_base(sim):
    x, y = torch.tensor(ROBOT.wheel_positions).unbind(-1)
    targets = torch.zeros(2, 4, 3)
    targets[..., LEG_JOINTS.index("steer")] = torch.atan2(x, -y)
    sim.step(targets.flatten(1), (torch.hypot(x, y) / ROBOT.wheel_radius).expand(2, 4))
    state = sim.read()
    assert state.angular_velocity[0].tolist() == pytest.approx([0.0, 0.0, 1.0], abs=1e-5)
    assert state.linear_velocity[0].abs().max() < 1e-5


def test_a_ball_beyond_the_edge_sinks_and_touches_nothing(sim):
    sim.reset(torch.arange(2), on((1.0, 0.0), (0.0, 0.0)))
    height = sim.read().ball_position[0, 0, 2].item()
    sim.step(*STILL)
    state = sim.read()
    assert state.ball_position[0, 0, 2].item() == pytest.approx(height - FALL)
    assert state.ball_contact[:, 0].tolist() == [False, True]


def test_a_snapshot_is_a_copy_that_leads_to_the_same_future(sim):
    saved = sim.snapshot()
    futures = []
    for _ in range(2):
        sim.step(legs(thigh=0.1), torch.ones(2, 4))
        futures.append(sim.read())
        sim.restore(saved)
    assert torch.equal(futures[0].robot, futures[1].robot)
    assert torch.equal(futures[0].balls, futures[1].balls)


def test_a_reset_touches_only_its_environments(sim):
    sim.step(legs(thigh=0.1), torch.ones(2, 4))
    before = sim.read()
    whole = on((0.02, 0.0), (0.0, 0.0))
    first = Spawn(*(part[:1] for part in vars(whole).values()))
    sim.reset(torch.tensor([0]), first)
    after = sim.read()
    assert torch.equal(after.balls[1], before.balls[1])
    assert torch.equal(after.robot[1], before.robot[1])
    assert after.ball_position[0, 0, 0].item() == pytest.approx(0.02)
    assert not after.linear_velocity[0].any()


def test_numbers_that_are_none_are_an_unstable_simulation(sim):
    sim.position[1, 0, 0] = float("nan")
    assert sim.read().unstable.tolist() == [False, True]
    assert sim.read(torch.tensor([1])).unstable.tolist() == [True]
