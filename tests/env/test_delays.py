"""Latency between an agent and its environment."""

import pytest
import torch

from s2m.config.env import EnvCfg
from s2m.config.evaluate import DelayCfg
from s2m.config.sim import DummyCfg
from s2m.config.task import TaskCfg
from s2m.env.delays import delayed
from s2m.env.episodes import run_episodes

CFG = EnvCfg(sim=DummyCfg(), task=TaskCfg(episode_steps=12))


def watched(delay):
    """Return what an agent that acts on its observations saw and did, and what arrived."""
    seen, sent, came = [], [], []

    def make(env):
        def act():
            observed = env.get_observations()
            assert observed is env.get_observations()
            seen.append(observed["proprio"])
            sent.append(observed["proprio"][:, :12] + len(sent))
            return sent[-1]

        return act

    late = delayed(make, delay)

    def noted(env):
        agent = late(env)

        def act():
            came.append(agent())
            return came[-1]

        return act

    rows = run_episodes(CFG, noted, [1, 3], 2)
    return seen, sent, came, rows


@pytest.mark.parametrize(("observation", "action"), [(0, 2), (3, 0), (1, 1)])
def test_observations_and_actions_come_late_by_so_many_steps(observation, action):
    seen, sent, came, _ = watched(DelayCfg(observation=observation, action=action))
    assert all(torch.equal(seen[0], late) for late in seen[: observation + 1])
    assert not torch.equal(seen[observation], seen[-1])
    assert all(not come.any() for come in came[:action])
    for arrived, given in zip(came[action:], sent, strict=False):
        assert torch.equal(arrived, given)


def test_an_observation_is_the_one_of_some_steps_ago():
    """With actions that are fixed, the episodes are the same whatever the agent is shown."""

    def trace(delay):
        seen = []

        def make(env):
            def act():
                seen.append(env.get_observations()["balls"])
                return torch.zeros(env.num_envs, 12)

            return act

        run_episodes(CFG, delayed(make, delay), [2], 2)
        return seen

    now, late = trace(DelayCfg()), trace(DelayCfg(observation=2))
    assert all(torch.equal(a, b) for a, b in zip(now, late[2:], strict=False))
    assert not torch.equal(now[4], late[4])


def test_without_a_delay_the_agent_is_its_own():
    def make(env):
        return lambda: torch.zeros(env.num_envs, 12)

    assert delayed(make, DelayCfg()) is make
