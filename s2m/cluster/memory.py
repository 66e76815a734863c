"""How much of a GPU's memory a run will take, computed from its config before any GPU has seen it.

Sizes of tensors are exact or measured on a CPU; what CUDA itself takes is a guess. The largest part
is what the update keeps of a mini-batch for its gradients.
"""

from collections.abc import Mapping

from s2m.config.encoder import cards, parse_card
from s2m.config.run import RunCfg

PHYSICS = {"warp": 48e3}
"""Bytes per environment with five balls, by simulator, as measured on a CPU."""
STORED = 3457
"""Bytes of one sample in the rollout: observations, actions, their distribution, returns."""
ASSUMED = "pfds"
"""The encoder that one of your own is taken for unless its class says `kept`."""
PAPER_WIDTH = 128
GRADIENTS = 1.5
"""What the backward pass adds: the gradients of the layers it is at."""
RUNTIME = 1e9
"""CUDA's context, its libraries and kernels: assumed, not measured."""


def kept(cfg: RunCfg, own: Mapping[str, bytes]) -> int:
    """Return what the encoder's class says it keeps of a sample; 0 if it does not say."""
    name = cfg.encoder.name
    file = own.get(f"encoder/{name}.py")
    card = cards().get(name) if file is None else parse_card(file, name)
    return card.kept if card else 0


def gpu_memory(cfg: RunCfg, own: Mapping[str, bytes] | None = None) -> dict[str, float] | None:
    """Return the bytes of each part; None for a simulator of which nothing is known.

    `own` are the files from outside of s2m that the run uses.
    """
    if cfg.sim.name not in PHYSICS:
        return None
    samples = cfg.budget.num_envs * cfg.budget.steps
    sample = (kept(cfg, own or {}) or cards()[ASSUMED].kept) * cfg.encoder.width / PAPER_WIDTH
    return {
        "physics": PHYSICS[cfg.sim.name] * cfg.budget.num_envs,
        "rollout": 2 * STORED * samples,  # mini-batches are gathered once, beside it
        "update": GRADIENTS * sample * samples / cfg.ppo.mini_batches,
        "runtime": RUNTIME,
    }
