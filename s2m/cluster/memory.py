"""How much of a GPU's memory a run will take, computed from its config before any GPU has seen it.

Sizes of tensors are exact or measured on a CPU; what CUDA itself takes is a guess. The largest part
is what the update keeps of a mini-batch for its gradients.
"""

from s2m.config.run import RunCfg

PHYSICS = {"warp": 48e3}
"""Bytes per environment with five balls, by simulator, as measured on a CPU."""
STORED = 3457
"""Bytes of one sample in the rollout: observations, actions, their distribution, returns."""
KEPT = {
    "flat_mlp": 16e3,
    "branch_mlp": 27e3,
    "dshc": 32e3,
    "pfds": 58e3,
    "set_transformer": 82e3,
    "set_transformer_pf": 250e3,
}
"""Bytes that actor and critic keep of a sample until its gradients are computed, at size=paper."""
PAPER_WIDTH = 128
GRADIENTS = 1.5
"""What the backward pass adds: the gradients of the layers it is at."""
RUNTIME = 1e9
"""CUDA's context, its libraries and kernels: assumed, not measured."""


def gpu_memory(cfg: RunCfg) -> dict[str, float] | None:
    """Return the bytes of each part; None for a simulator of which nothing is known."""
    if cfg.sim.name not in PHYSICS:
        return None
    samples = cfg.budget.num_envs * cfg.budget.steps
    kept = KEPT.get(cfg.encoder.name, KEPT["pfds"]) * cfg.encoder.width / PAPER_WIDTH
    return {
        "physics": PHYSICS[cfg.sim.name] * cfg.budget.num_envs,
        "rollout": 2 * STORED * samples,  # mini-batches are gathered once, beside it
        "update": GRADIENTS * kept * samples / cfg.ppo.mini_batches,
        "runtime": RUNTIME,
    }
