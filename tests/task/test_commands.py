import math

import pytest
import torch

from s2m.config.task import CommandCfg
from s2m.robot.model import ROBOT
from s2m.task.commands import Commands, WheelKinematics

DT = 0.02


def make_commands(n=4000, **settings):
    generator = torch.Generator().manual_seed(0)
    return Commands(CommandCfg(**settings), n, DT, generator)


def test_commands_fill_their_box_and_stand_as_often_as_asked():
    commands = make_commands(standing=0.25)
    commands.reset(torch.arange(4000))
    moving = commands.target[commands.target.any(-1)]
    assert len(moving) / 4000 == pytest.approx(0.75, abs=0.03)
    assert torch.all(moving.abs() <= torch.tensor([0.5, 0.2, 0.3]))
    assert torch.allclose(moving.abs().amax(0), torch.tensor([0.5, 0.2, 0.3]), rtol=0.01)
    assert moving.mean(0).abs().max() < 0.02


def test_reference_reaches_the_command_without_a_jump_of_acceleration():
    commands = make_commands(1)
    commands.target[:] = torch.tensor([[0.5, 0.0, 0.0]])
    speeds, accelerations = [], [0.0]
    for _ in range(400):
        commands.advance()
        speeds.append(commands.reference[0, 0].item())
        accelerations.append(commands.acceleration[0, 0].item())
    assert speeds[-1] == pytest.approx(0.5, abs=1e-3)
    # Peak acceleration of three equal lags: 0.27 * bandwidth * step.
    assert max(accelerations) == pytest.approx(0.27 * commands.cfg.bandwidth * 0.5, rel=0.03)
    jumps = [b - a for a, b in zip(accelerations, accelerations[1:], strict=False)]
    assert max(map(abs, jumps)) < 0.05


def test_the_policy_is_told_the_acceleration_of_the_plate_also_in_a_curve():
    commands = make_commands(1)
    commands.target[:] = torch.tensor([[0.5, -0.2, 0.3]])
    heading, before = 0.0, torch.zeros(2)
    for step in range(300):
        commands.advance()
        heading += DT * commands.reference[0, 2].item()
        turn = torch.tensor(
            [[math.cos(heading), -math.sin(heading)], [math.sin(heading), math.cos(heading)]]
        )
        velocity = turn @ commands.reference[0, :2]
        if step > 0:
            expected = turn.T @ (velocity - before) / DT
            assert torch.allclose(commands.observed()[0, 3:], expected, atol=5e-3)
        before = velocity
    # At a steady speed only the curve is left.
    assert torch.allclose(commands.observed()[0, 3:], torch.tensor([0.06, 0.15]), atol=2e-3)
    assert torch.equal(commands.observed()[:, :3], commands.target)


def drive(reference, steps=200):
    wheels = WheelKinematics(CommandCfg(), ROBOT, 1, DT, "cpu")
    reference = torch.tensor([reference])
    for _ in range(steps):
        steer, hub = wheels.advance(reference)
    return steer[0], hub[0]


def test_straight_ahead():
    steer, hub = drive([0.4, 0.0, 0.0])
    assert torch.allclose(steer, torch.zeros(4))
    assert torch.allclose(hub, torch.full((4,), 0.4 / ROBOT.wheel_radius))


def test_backwards_drives_reversed_instead_of_turning_round():
    steer, hub = drive([-0.4, 0.0, 0.0])
    assert torch.allclose(steer, torch.zeros(4), atol=1e-6)
    assert torch.allclose(hub, torch.full((4,), -0.4 / ROBOT.wheel_radius))


def test_sideways_turns_all_wheels_by_a_right_angle():
    steer, hub = drive([0.0, 0.2, 0.0])
    assert torch.allclose(steer.abs(), torch.full((4,), math.pi / 2), atol=1e-5)
    assert torch.allclose(hub * steer.sin(), torch.full((4,), 0.2 / ROBOT.wheel_radius), atol=1e-4)


def test_turning_on_the_spot_is_a_rigid_rotation():
    steer, hub = drive([0.0, 0.0, 0.3])
    for (x, y), angle, speed in zip(ROBOT.wheel_positions, steer, hub, strict=True):
        velocity = speed * ROBOT.wheel_radius * torch.stack([angle.cos(), angle.sin()])
        assert torch.allclose(velocity, 0.3 * torch.tensor([-y, x]), atol=1e-4)


def test_wheels_hold_their_angle_at_rest_and_turn_at_a_limited_rate():
    wheels = WheelKinematics(CommandCfg(steer_rate=1.0), ROBOT, 1, DT, "cpu")
    steer, _ = wheels.advance(torch.tensor([[0.0, 0.2, 0.0]]))
    assert torch.allclose(steer.abs(), torch.full((1, 4), DT))
    held, hub = wheels.advance(torch.zeros(1, 3))
    assert torch.equal(held, steer) and not hub.any()
