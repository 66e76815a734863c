"""Reference agents: what they do in a given state."""

import pytest
import torch

from s2m.config.env import EnvCfg
from s2m.config.sim import DummyCfg
from s2m.env.agents import AGENTS, Balance
from s2m.env.transport import TransportEnv
from s2m.robot.model import LEG_JOINTS


def make(n=2, balls=1, seed=0):
    cfg = EnvCfg(num_envs=n, seed=seed, sim=DummyCfg())
    env = TransportEnv(cfg, balls=torch.full((n,), balls))
    env.commands.plate_acceleration[:] = 0.0
    return env


def place(env, x, y):
    """Put all balls of every plate to one place, at rest."""
    env.state.ball_position[..., :2] = torch.tensor([x, y])
    env.state.ball_velocity[:] = 0.0


def joint(actions, name):
    return actions.unflatten(1, (4, 3))[..., LEG_JOINTS.index(name)]


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_acts_in_every_environment(name):
    assert AGENTS[name](make(3))().shape == (3, 12)


def test_zero_holds_the_default_pose():
    assert not AGENTS["zero"](make())().any()


def test_random_actions_repeat_with_the_seed_and_differ_from_step_to_step():
    one, other = (AGENTS["random"](make(200, seed=3)) for _ in range(2))
    first = one()
    assert torch.equal(first, other()) and not torch.equal(first, one())
    assert first.std().item() == pytest.approx(1.0, abs=0.05)


def test_a_ball_in_the_middle_at_rest_needs_no_tilt():
    env = make()
    place(env, 0.0, 0.0)
    assert Balance(env)().abs().max() < 1e-6


@pytest.mark.parametrize(
    ("x", "y", "moved", "still"),
    [(0.05, 0.0, "thigh", "abduct"), (0.0, 0.05, "abduct", "thigh")],
)
def test_a_ball_off_the_middle_is_rolled_back(x, y, moved, still):
    env = make()
    place(env, x, y)
    there = Balance(env)()
    place(env, -x, -y)
    back = Balance(env)()
    assert joint(there, moved).abs().min() > 0.01
    torch.testing.assert_close(there, -back)
    assert joint(there, still).abs().max() < 1e-6
    assert not joint(there, "steer").any()


def test_what_counts_is_the_middle_of_the_balls_that_are_there():
    env = make(balls=2)
    place(env, 0.08, 0.0)
    env.state.ball_position[:, 0, 0] = -0.08
    assert Balance(env)().abs().max() < 1e-6


def test_the_tilt_is_limited():
    env = make()
    balance = Balance(env)
    for _ in range(200):
        place(env, 0.1, -0.1)
        env.episode_length_buf[:] = 1
        balance()
    assert balance.command.abs().tolist() == [[pytest.approx(Balance.LIMIT)] * 2] * 2


def test_a_new_episode_begins_from_a_level_plate():
    env = make()
    balance = Balance(env)
    place(env, 0.05, 0.05)
    first = balance()
    env.episode_length_buf[:] = torch.tensor([7, 0])
    second = balance()
    torch.testing.assert_close(second[1], first[1])
    assert second[0].norm() > first[0].norm()


def test_the_controller_keeps_a_ball_that_holding_still_would_lose():
    margins = {}
    for name in ("zero", "lqr"):
        env = make(16, seed=5)
        agent = AGENTS[name](env)
        for _ in range(150):
            env.step(agent())
        margins[name] = env.outcome.scene.minimum_margin.mean().item()
    assert margins["lqr"] > margins["zero"] + 0.1
