"""Controls: runs that act and do not learn, through the curriculum and evaluation of all others.

What an untrained policy or a plate that is held still reaches, no training has earned; the balance
controller shows what the task allows.
"""

from typing import Any

from torch import Tensor

from s2m.config.run import LEARNER, RunCfg
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner


class Untrained(Learner):
    """The policy as it is initialised, with its exploration."""

    def update(self, spent: float) -> dict[str, float]:
        """Forget the samples."""
        self.ppo.storage.clear()
        return {}


class Reference(Untrained):
    """A reference agent; the networks of its config never act."""

    def __init__(self, cfg: RunCfg, env: TransportEnv) -> None:
        """Take the agent's place in the environment."""
        super().__init__(cfg, env)
        self.agent = AGENTS[cfg.agent](env)

    def act(self) -> Tensor:
        """Return the agent's actions (n, 12)."""
        super().act()  # What rsl-rl wants to have seen before a step.
        return self.agent()

    def audit(self, samples: int, seed: int) -> dict[str, float]:
        """Return nothing: an agent that reads the state has no slots."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Add what the agent remembers."""
        return {**super().state_dict(), "agent": getattr(self.agent, "command", None)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the agent remember."""
        super().load_state_dict(state)
        if state["agent"] is not None:
            remembered = state["agent"].to(self.env.device)
            self.agent.command = remembered  # pyright: ignore[reportFunctionMemberAccess]


def make_learner(cfg: RunCfg, env: TransportEnv) -> Learner:
    """Return who acts, and perhaps learns, in a run."""
    if cfg.agent == LEARNER:
        return Learner(cfg, env)
    return Reference(cfg, env) if cfg.agent in AGENTS else Untrained(cfg, env)
