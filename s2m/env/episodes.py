"""Episodes from step 0 to their end, one row each: the only path to a success rate."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from s2m.config.env import EnvCfg
from s2m.env.agents import Agent
from s2m.env.transport import TransportEnv

EpisodeRow = dict[str, Any]


def run_episodes(
    cfg: EnvCfg,
    make: Callable[[TransportEnv], Agent],
    levels: Sequence[int],
    episodes: int,
    progress: Callable[[int, int], None] = lambda step, alive: None,
) -> list[EpisodeRow]:
    """Run `episodes` episodes for each number of balls in `levels` and return a row for each.

    Only the first episode of an environment is used, from its step 0 to its end: taking what
    happens to finish first would favour failures. All episodes run side by side; start, commands
    and noise of each depend on the seed alone: two policies are judged in the same episodes.
    """
    balls = torch.tensor(levels).repeat_interleave(episodes)
    env = TransportEnv(replace(cfg, num_envs=len(balls)), balls=balls, once=True)
    try:
        return _run(env, make(env), progress)
    finally:
        env.close()


def _run(env: TransportEnv, agent: Agent, progress: Callable[[int, int], None]) -> list[EpisodeRow]:
    n, length = env.num_envs, env.max_episode_length
    alive = torch.ones(n, dtype=torch.bool, device=env.device)
    steps, near_edge, outside, dropped, fell, unstable = torch.zeros(
        6, n, dtype=torch.long, device=env.device
    )
    margin, linear, yaw = torch.zeros(3, n, device=env.device, dtype=torch.float64)
    with torch.inference_mode():
        for step in range(length):
            env.step(agent())
            result = env.outcome
            scene = result.scene
            steps += alive
            near_edge += alive & scene.dangerous & (step >= env.cfg.task.grace_steps)
            outside += alive & scene.outside.any(-1)
            dropped += alive & result.dropped
            fell += alive & result.fell
            unstable += alive & result.unstable
            margin += alive * scene.minimum_margin
            linear += alive * scene.linear_error
            yaw += alive * scene.yaw_error
            alive = alive & ~result.terminated
            progress(step + 1, int(alive.sum()))
            if not alive.any():
                break
    columns = {
        "k": env.balls, "steps": steps, "dropped": dropped > 0, "fell": fell > 0,
        "unstable": unstable > 0, "near_edge_steps": near_edge, "outside_steps": outside,
        "no_drop": alive, "strict": alive & (near_edge == 0), "minimum_margin": margin / steps,
        "linear_error": linear / steps, "yaw_error": yaw / steps,
    }  # fmt: skip
    values = {name: column.tolist() for name, column in columns.items()}
    return [
        {"episode": i, **{name: column[i] for name, column in values.items()}} for i in range(n)
    ]
