"""Fixed scaling against values found by hand: rest is 0, edges are 1, empty slots stay empty."""

import pytest
import torch
from tensordict import TensorDict

from s2m.config.env import EnvCfg
from s2m.config.task import CommandCfg
from s2m.env.transport import TransportEnv
from s2m.policy.scaling import Scaler, ball_scaling, command_scale, proprio_scaling


@pytest.fixture
def scaler():
    return Scaler(CommandCfg(linear_x=0.5, linear_y=0.2, yaw=0.3))


def frame():
    """Return a frame of proprioception in which every kind of number is 0.1 off its rest."""
    rest = torch.zeros(43)
    rest[5], rest[42] = -1.0, 0.28
    return rest + 0.1


def test_a_resting_robot_is_zero(scaler):
    proprio = (frame() - 0.1).repeat(1, 6)
    assert scaler.vector(proprio, torch.zeros(1, 5)).abs().max() < 1e-6


def test_each_kind_of_number_has_its_own_scale(scaler):
    proprio = frame().repeat(2, 6)
    command = torch.tensor([[0.5, -0.2, 0.15, 0.25, -0.5], [0.0, 0.1, -0.3, 0.0, 0.125]])
    vector = scaler.vector(proprio, command)
    assert vector.shape == (2, 263)
    seen = [0.05] * 3 + [0.8, 0.8, 0.1]  # angular velocity, gravity
    seen += [0.6, 0.6, 0.05] * 4  # positions: abduct, thigh, steer of four legs
    seen += [0.05, 0.05, 0.01] * 4  # speeds of the same
    seen += [0.03] * 12 + [2.0]  # previous action, height
    for window in vector[:, :258].unflatten(-1, (6, 43)).flatten(0, 1):
        torch.testing.assert_close(window, torch.tensor(seen), atol=1e-5, rtol=0)
    expected = [[1.0, -1.0, 0.5, 1.0, -2.0], [0.0, 0.5, -1.0, 0.0, 0.5]]
    torch.testing.assert_close(vector[:, 258:], torch.tensor(expected))


def test_a_command_that_never_comes_is_zero():
    scale = command_scale(CommandCfg(linear_x=0.5, linear_y=0.0, yaw=0.3))
    torch.testing.assert_close(scale, torch.tensor([2.0, 0.0, 10 / 3, 4.0, 4.0]))


def test_balls_are_one_at_the_edge_of_the_plate_and_zero_at_rest_on_it(scaler):
    balls = torch.zeros(1, 4, 5, 14)
    # Front left corner, 1 cm above rest; 0.3 m/s, a half turn about z, 2 rad/s, as observed.
    balls[0, 3, 1] = torch.tensor(
        [0.112, 0.0755, 0.125, 0.15, -0.15, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, -0.5, 1.0]
    )
    expected = torch.zeros(1, 4, 5, 14)
    expected[0, 3, 1] = torch.tensor(
        [1.0, 1.0, 0.2, 0.6, -0.6, 0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 0.0, -0.5, 1.0]
    )
    before = balls.clone()
    torch.testing.assert_close(scaler.balls(balls), expected, atol=1e-6, rtol=0)
    assert torch.equal(balls, before)


def test_what_an_environment_shows_keeps_its_empty_slots_and_is_not_changed(scaler):
    env = TransportEnv(EnvCfg(num_envs=6), balls=torch.tensor([1, 2, 3, 4, 5, 5]))
    for _ in range(8):
        env.step(torch.randn(6, 12))
    raw = env.get_observations()
    env.close()
    before, scaled = raw.clone(), scaler(raw)
    assert set(scaled.keys()) == {"vector", "balls", "balls_clean"}
    offset, scale = ball_scaling()
    for group in ("balls", "balls_clean"):
        seen = raw[group][..., -1] > 0
        assert seen.any() and not seen.all()
        expected = (raw[group] - offset) * scale
        assert torch.allclose(scaled[group][seen], expected[seen], atol=1e-6)
        assert not scaled[group][~seen].any()
        assert torch.equal(scaled[group][..., -1], raw[group][..., -1])
    offset, scale = proprio_scaling()
    torch.testing.assert_close(scaled["vector"][:, :258], (raw["proprio"] - offset) * scale)
    assert all(torch.equal(raw[name], before[name]) for name in before.keys())


def test_it_moves_like_a_module_and_no_checkpoint_has_it(scaler):
    assert not scaler.state_dict() and not list(scaler.parameters())
    balls = torch.rand(2, 4, 5, 14)
    parts = {"proprio": torch.rand(2, 258), "command": torch.rand(2, 5)}
    observed = TensorDict({**parts, "balls": balls, "balls_clean": balls}, batch_size=[2])
    assert scaler(observed)["vector"].dtype == torch.float32
    moved = scaler.to(torch.float64)(observed.to(torch.float64))
    assert moved["vector"].dtype == moved["balls"].dtype == torch.float64
