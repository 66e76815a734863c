"""Episodes are paired: what one meets does not depend on who has failed beside it."""

import torch

from s2m.config.env import EnvCfg
from s2m.env.agents import Agent, zero
from s2m.env.episodes import run_episodes
from s2m.env.transport import TransportEnv

LEVELS, EPISODES = [1, 5], 8


def _watched(actions: float) -> tuple[torch.Tensor, torch.Tensor, list[dict]]:
    """Return commands and noise of every step, and the rows, of an agent that shakes the plate."""
    commands, noise = [], []

    def make(env: TransportEnv) -> Agent:
        hold, generator = zero(env), torch.Generator().manual_seed(0)

        def act() -> torch.Tensor:
            commands.append(env.commands.target.clone())
            noise.append(env.streams["noise"].get_state())
            still = hold()
            return still + actions * torch.randn(still.shape, generator=generator)

        return act

    rows = run_episodes(EnvCfg(seed=3), make, LEVELS, EPISODES)
    return torch.stack(commands), torch.stack(noise), rows


def test_commands_and_noise_do_not_depend_on_who_has_failed():
    """Else two policies, or two engines, would be compared in different episodes."""
    calm, calm_noise, calm_rows = _watched(0.0)
    wild, wild_noise, wild_rows = _watched(2.0)
    ends = [[row["steps"] for row in rows] for rows in (calm_rows, wild_rows)]
    assert ends[0] != ends[1]
    steps = min(len(calm), len(wild))
    assert steps > max(ends[1][:2])
    assert torch.equal(calm[:steps], wild[:steps])
    assert torch.equal(calm_noise[:steps], wild_noise[:steps])


def test_an_episode_ends_once():
    *_, rows = _watched(2.0)
    assert len(rows) == len(LEVELS) * EPISODES
    assert any(row["dropped"] for row in rows)
    for row in rows:
        assert row["no_drop"] == (not (row["dropped"] or row["fell"] or row["unstable"]))
        assert row["no_drop"] <= (row["steps"] == EnvCfg().task.episode_steps)
