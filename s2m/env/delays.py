"""Latency between an agent and its environment, for episodes that are run once (episodes.py)."""

from collections import deque
from collections.abc import Callable
from typing import Any, cast

from tensordict import TensorDict

from s2m.config.evaluate import DelayCfg
from s2m.env.agents import Agent
from s2m.env.transport import TransportEnv


class Late:
    """An environment that shows what there was some steps ago, and at first its first state."""

    def __init__(self, env: TransportEnv, steps: int) -> None:
        """Remember as many observations."""
        self._env, self._step = env, -1
        self._seen: deque[TensorDict] = deque(maxlen=steps + 1)

    def __getattr__(self, name: str) -> Any:
        """Be the environment in everything else."""
        return getattr(self._env, name)

    def get_observations(self) -> TensorDict:
        """Return the observations that have arrived by the present step."""
        step = int(self._env.episode_length_buf.max())
        if step != self._step:
            self._seen.append(self._env.get_observations())
            self._step = step
        return self._seen[0]


def delayed(make: Callable[[TransportEnv], Agent], cfg: DelayCfg) -> Callable[..., Agent]:
    """Return a maker of agents that observe and act late; until an action arrives it is zero."""
    if cfg == DelayCfg():
        return make

    def begin(env: TransportEnv) -> Agent:
        agent = make(cast(TransportEnv, Late(env, cfg.observation)))
        still = env.action.new_zeros(env.num_envs, env.num_actions)
        sent = deque([still] * cfg.action, maxlen=cfg.action + 1)

        def act():
            sent.append(agent())
            return sent[0]

        return act

    return begin
