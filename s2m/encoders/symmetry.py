"""The groups of slot permutations, their action on ball histories and the invariance audit.

An element g = (pi_1, ..., pi_H) is a tensor (B, H, N) of images, g[b, t, i] = pi_t(i); G_diag has
the same permutation in every frame, G_frame any.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Permutations = Literal["G_diag", "G_frame"]
AUDITED: dict[str, Permutations] = {"diag": "G_diag", "frame": "G_frame"}


def sample(
    group: Permutations, batch: int, frames: int, slots: int, generator: torch.Generator
) -> Tensor:
    """Draw uniform elements of a group, (B, H, N)."""
    independent = frames if group == "G_frame" else 1
    keys = torch.rand(
        batch, independent, slots, generator=generator, device=generator.device, dtype=torch.float64
    )
    return keys.argsort(-1).expand(batch, frames, slots)


def inverse(element: Tensor) -> Tensor:
    """Return g^-1."""
    return element.argsort(-1)


def permute(element: Tensor, x: Tensor) -> Tensor:
    """Apply g to balls (B, H, N, ...) or masks (B, H, N): (g X)_ti = x_t,pi_t^-1(i)."""
    source = inverse(element)
    source = source.reshape(*source.shape, *[1] * (x.dim() - 3)).expand_as(x)
    return x.gather(2, source)


def quotient_ratio(frames: int, slots: int) -> int:
    """Return |G_frame| / |G_diag| = (N!)^(H-1)."""
    return math.factorial(slots) ** (frames - 1)


@torch.no_grad()
def audit(
    act: Callable[[Tensor], Tensor], balls: Tensor, samples: int, generator: torch.Generator
) -> dict[str, float]:
    """Measure how much actions (B, a) change when slots of balls (B, H, N, d) are permuted.

    The activity flag is one of the d features, so it moves with its ball. Each of `samples` rounds
    draws one element per observation; the mean runs over rounds, observations and actions.
    """
    reference = act(balls)
    changes: dict[str, float] = {}
    for name, group in AUDITED.items():
        rounds = []
        for _ in range(samples):
            element = sample(group, *balls.shape[:3], generator=generator).to(balls.device)
            rounds.append((act(permute(element, balls)) - reference).abs())
        change = torch.stack(rounds)
        changes[f"symmetry/{name}_max"] = change.max().item()
        changes[f"symmetry/{name}_mean"] = change.mean().item()
    return changes
