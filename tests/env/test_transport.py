"""The whole environment: streams, permutation, resets, level changes, exactness."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2m.config.curriculum import CurriculumCfg
from s2m.config.env import EnvCfg
from s2m.config.sim import DummyCfg, MujocoCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.console.errors import UserError
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.sim.mujoco import MujocoSimulator
from s2m.sim.protocol import make_simulator
from s2m.task.observations import BALL_FRAMES


def make(n=8, balls=None, **changes):
    cfg = EnvCfg(num_envs=n, **changes)
    counts = torch.full((n,), balls) if isinstance(balls, int) else balls
    return TransportEnv(cfg, balls=counts)


def roll(env, steps, scale=0.5, seed=0):
    """Act at random from a stream of its own; return everything the learner sees."""
    generator = torch.Generator().manual_seed(seed)
    record = []
    for _ in range(steps):
        actions = scale * torch.randn(env.num_envs, 12, generator=generator)
        observation, reward, done, extras = env.step(actions)
        record.append((observation, reward, done, extras))
    return record


def physics(env):
    assert isinstance(env.sim, MujocoSimulator)
    return env.sim


def same(a, b):
    return all(
        torch.equal(first[0][group], second[0][group])
        for first, second in zip(a, b, strict=True)
        for group in first[0].keys()  # noqa: SIM118  a TensorDict iterates over its batch
    ) and all(
        torch.equal(first[1], second[1]) and torch.equal(first[2], second[2])
        for first, second in zip(a, b, strict=True)
    )


def test_observation_groups_have_the_papers_shapes():
    observation = make(4, 2).get_observations()
    shapes = {name: tuple(value.shape) for name, value in observation.items()}
    assert shapes == {
        "proprio": (4, 258),
        "command": (4, 5),
        "balls": (4, 4, 5, 14),
        "balls_clean": (4, 4, 5, 14),
    }


def test_tactile_group_on_request():
    env = make(2, 3, task=TaskCfg(tactile_observation=True))
    observation = env.get_observations()
    assert observation["tactile"].shape == (2, 4, 16, 16)
    assert observation["tactile"].dtype == torch.bool and observation["tactile"].any()


def test_observations_are_never_changed_later():
    env = make(4, 2)
    kept = env.get_observations()
    copy = kept.clone()
    roll(env, 5)
    assert all(torch.equal(kept[name], copy[name]) for name in copy.keys())  # noqa: SIM118


def test_same_seed_twice_is_bit_equal_and_another_seed_is_not():
    first, again, other = (roll(make(6, 3, seed=seed), 40) for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


def test_a_saved_state_goes_on_bit_equal():
    env = make(6, curriculum=CurriculumCfg(start=2))
    roll(env, 30)
    saved = env.state_dict()
    first = roll(env, 50, seed=9)
    fresh = make(6, seed=77, curriculum=CurriculumCfg(start=2))
    fresh.load_state_dict(saved)
    assert same(first, roll(fresh, 50, seed=9))


def test_two_threads_are_bit_equal_to_one():
    assert same(roll(make(6, 5), 30), roll(make(6, 5, sim=MujocoCfg(threads=2)), 30))


def test_without_permutation_slot_i_is_ball_i():
    env = make(5, 4, permute=False)
    for _ in range(10):
        observation, *_ = env.step(torch.zeros(5, 12))
        seen = env.state.ball_contact.unsqueeze(-1)
        newest = observation["balls_clean"][:, -1, :, :3]
        assert torch.equal(newest, env.state.ball_position * seen)


def test_each_new_frame_has_its_own_permutation_and_keeps_it_while_it_ages():
    env = make(64, 5)
    frames, orders = [], []
    for _ in range(12):
        observation, *_ = env.step(torch.zeros(64, 12))
        history = observation["balls_clean"]
        for age in range(1, min(len(frames), BALL_FRAMES - 1) + 1):
            assert torch.equal(history[:, -1 - age], frames[-age])
        frames.append(history[:, -1])
        distance = torch.cdist(history[:, -1, :, :3], env.state.ball_position)
        orders.append(distance.argmin(-1))
    orders = torch.stack(orders)
    assert (orders[1:] != orders[:-1]).any(-1).double().mean() > 0.97  # 1 - 1/120
    share = torch.nn.functional.one_hot(orders.flatten(0, 1)).double().mean(0)
    assert (share - 0.2).abs().max() < 0.06


def test_permutation_draws_from_a_stream_of_its_own():
    """Switching it on changes nothing but the order of slots."""
    on, off = (make(6, 3, permute=flag) for flag in (True, False))
    for first, second in zip(roll(on, 30), roll(off, 30), strict=True):
        assert torch.equal(first[1], second[1])
        assert torch.equal(first[0]["proprio"], second[0]["proprio"])
        for group in ("balls", "balls_clean"):
            a, b = (obs[0][group].sort(2).values for obs in (first, second))
            assert torch.equal(a, b)


@settings(max_examples=10)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_slots_beyond_the_number_of_balls_are_empty(counts):
    env = make(len(counts), torch.tensor(counts), permute=True)
    observation, *_ = env.step(torch.zeros(len(counts), 12))
    for group in ("balls", "balls_clean"):
        used = observation[group][:, -1].any(-1).sum(-1)
        assert used.tolist() == counts
    env.close()


def test_a_ball_out_of_contact_is_hidden_and_zero():
    env = make(1, 2, permute=False)
    physics(env).qpos[0, 23 + 2] += 0.05  # lift ball 0
    observation, *_ = env.step(torch.zeros(1, 12))
    assert not observation["balls"][0, -1, 0].any()
    assert observation["balls"][0, -1, 1].any()


def test_time_out_is_not_a_termination_and_restarts_the_episode():
    env = make(3, 1, task=TaskCfg(episode_steps=5))
    for step in range(1, 6):
        _, _, done, extras = env.step(torch.zeros(3, 12))
        assert done.tolist() == [int(step == 5)] * 3
    assert extras["time_outs"].all() and not env.outcome.terminated.any()
    assert env.episode_length_buf.tolist() == [0, 0, 0]


def test_a_dropped_ball_ends_the_episode():
    env = make(2, 1)
    physics(env).qpos[1, 23] += 0.5
    for _ in range(30):
        _, _, done, extras = env.step(torch.zeros(2, 12))
        if done[1]:
            break
    assert done.tolist() == [0, 1] and not extras["time_outs"].any()
    assert env.outcome.dropped.tolist() == [False, True]


def test_an_unstable_simulation_ends_the_episode_and_is_logged(tmp_path):
    env = TransportEnv(EnvCfg(num_envs=2), balls=torch.tensor([1, 1]), dump=tmp_path)
    physics(env).qvel[0, 0] = float("nan")
    observation, reward, done, extras = env.step(torch.zeros(2, 12))
    assert done.tolist() == [1, 0] and not extras["time_outs"].any()
    assert extras["log"]["sim/unstable"].item() == 0.5
    assert torch.isfinite(observation["proprio"]).all() and torch.isfinite(reward).all()
    assert env.outcome.unstable.tolist() == env.outcome.terminated.tolist() == [True, False]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_an_engine_cannot_tell_is_not_logged_as_nothing():
    sim: Any = make_simulator(DummyCfg(), 2, TaskCfg().contact_gap)
    told = TransportEnv(EnvCfg(num_envs=2, sim=DummyCfg()), simulator=sim)
    sim.unsolved = None
    silent = TransportEnv(EnvCfg(num_envs=2, sim=DummyCfg()), simulator=sim)
    assert {*told.logged} - {*silent.logged} == {"sim/unsolved"}
    assert [*silent.step(torch.zeros(2, 12))[3]["log"]] == [*silent.logged]


def test_reward_is_the_sum_of_the_logged_terms_times_dt():
    env = make(5, 3)
    _, reward, _, extras = env.step(torch.zeros(5, 12))
    terms = [value for name, value in extras["log"].items() if name.startswith("reward/")]
    assert reward.mean().item() == pytest.approx(torch.stack(terms).sum().item() * 0.02, rel=1e-5)


EASY: Any = dict(
    length_ratio=0.0, margin=[-9.0] * 4, dangerous=[9.0] * 4, edge=[9.0] * 4,
    linear_error=[9.0] * 4, yaw_error=[9.0] * 4, window=1, check_steps=1, min_stage_episodes=0,
    min_steps_per_level=0,
)  # fmt: skip


@pytest.mark.parametrize("stagger", [False, True])
def test_a_level_change_resets_everyone_with_one_more_ball(stagger):
    env = make(6, task=TaskCfg(episode_steps=8), curriculum=CurriculumCfg(**EASY, stagger=stagger))
    for _ in range(40):
        _, _, done, extras = env.step(torch.zeros(6, 12))
        if env.events:
            break
    (event,) = env.events
    assert event.level == 2 and env.balls.tolist() == [2] * 6
    assert done.all() and extras["time_outs"].all()
    assert env.state.ball_active.sum(1).tolist() == [2] * 6
    assert bool(env.curriculum.counts.any()) is not stagger
    assert stagger == bool(env.episode_length_buf.any())


def test_a_level_change_needs_a_full_episode_of_everybody():
    env = make(6, task=TaskCfg(episode_steps=8), curriculum=CurriculumCfg(**EASY, stagger=False))
    roll(env, 20, scale=0.0)
    assert [event.step for event in env.events] == [8, 16]


def test_shifting_the_clock_makes_episodes_uncounted():
    env = make(4)
    env.episode_length_buf = torch.tensor([3, 4, 5, 6])
    assert env.episode_length_buf.tolist() == [3, 4, 5, 6]
    assert not env.curriculum.counts.any()


def test_steps_within_inference_mode_leave_usable_tensors():
    env = make(2, 1)
    with torch.inference_mode():
        env.step(torch.zeros(2, 12))
    env.smooth_action += 1.0
    assert not env.get_observations()["balls"].is_inference()


@pytest.mark.parametrize(
    ("cfg", "line"),
    [
        (EnvCfg(num_envs=-3), "num_envs = -3: allowed 1 or more"),
        (EnvCfg(seed=-1), "seed = -1: allowed 0 to"),
        (EnvCfg(curriculum=CurriculumCfg(start=0)), "curriculum.start = 0: allowed 1 to 5"),
        (EnvCfg(curriculum=CurriculumCfg(start=6)), "curriculum.start = 6: allowed 1 to 5"),
        (EnvCfg(task=TaskCfg(danger=[0.1])), "task.danger = [0.1]: needs 5 values"),
        (EnvCfg(task=TaskCfg(max_roll=float("nan"))), "task.max_roll = nan: allowed above 0"),
        (EnvCfg(sim=MujocoCfg(integrator="rk9")), "unknown sim.integrator 'rk9'"),
    ],
)
def test_bad_settings_are_one_line(cfg, line):
    with pytest.raises(UserError) as error:
        TransportEnv(cfg)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_a_level_whose_balls_cannot_be_placed_is_refused_before_training(monkeypatch):
    monkeypatch.setattr("s2m.task.spawn.MOST_TRIES", 2)
    crowded = EnvCfg(num_envs=1, task=TaskCfg(spawn=SpawnCfg(gap=0.005)))
    with pytest.raises(UserError, match=r"cannot place [2-5] balls 0\.005 m apart"):
        TransportEnv(crowded)


def test_balls_must_be_one_to_five_for_every_environment():
    for balls in (torch.tensor([0, 1]), torch.tensor([6, 1]), torch.tensor([1])):
        with pytest.raises(UserError, match="balls"):
            TransportEnv(EnvCfg(num_envs=2), balls=balls)


@pytest.mark.parametrize("name", AGENTS)
def test_agents_act_within_the_action_space(name):
    env = make(4, torch.tensor([1, 2, 3, 5]))
    actions = AGENTS[name](env)()
    assert actions.shape == (4, 12) and torch.isfinite(actions).all()
