"""Observation frames and their histories (paper, appendix C.2).

proprio (n, 258): six frames of 43 numbers, oldest first; command (n, 5); balls (n, 4, 5, 14) noisy
and, for the critic, balls_clean without noise. A ball that does not touch the plate is all zero.
"""

import torch
from torch import Tensor

from s2m.config.task import NoiseCfg
from s2m.robot.model import MAX_BALLS
from s2m.task.constants import constant
from s2m.task.rotation import perturb
from s2m.task.state import TransportState

PROPRIO_FRAMES, PROPRIO_SIZE = 6, 43
BALL_FRAMES, BALL_SIZE = 4, 14
VELOCITY_SCALE, ANGULAR_SCALE = 0.5, 0.25


def proprio_frame(state: TransportState, default_pose: Tensor, action: Tensor) -> Tensor:
    """Angular velocity 3, gravity 3, joints 12 + 12, previous action 12, height 1: (n, 43)."""
    return torch.cat(
        [
            state.angular_velocity,
            state.gravity,
            state.joint_position - default_pose,
            state.joint_velocity,
            action,
            state.base_height,
        ],
        -1,
    )


def visible(state: TransportState) -> Tensor:
    """Which slots are observed: active and in contact, (n, N) bool."""
    return state.ball_active & state.ball_contact


def ball_frame(state: TransportState) -> Tensor:
    """Position 3, velocity 3 x 0.5, quaternion 4, angular velocity 3 x 0.25, activity 1."""
    seen = visible(state).unsqueeze(-1).to(state.balls.dtype)
    scale = constant(
        (1.0,) * 3 + (VELOCITY_SCALE,) * 3 + (1.0,) * 4 + (ANGULAR_SCALE,) * 3, state.balls
    )
    return torch.cat([state.balls * scale * seen, seen], -1)


def add_noise(
    clean: Tensor, cfg: NoiseCfg, generator: torch.Generator, most: int = MAX_BALLS
) -> Tensor:
    """Add uniform sensor noise to the observed balls of a frame (n, N, 14).

    Noise belongs to the ball, not to its slot: it is drawn before slots are permuted. Where no
    environment has more than `most` balls, the other slots are left out of the work.
    """
    noisy = clean.clone()
    moving, rotation, turning, seen = noisy[:, :most].split((6, 4, 3, 1), -1)
    draw = torch.rand(
        *seen.shape[:-1], 12, generator=generator, device=clean.device, dtype=clean.dtype
    )
    bounds = (cfg.position,) * 3 + (cfg.velocity * VELOCITY_SCALE,) * 3
    bounds += (cfg.orientation,) * 3 + (cfg.angular * ANGULAR_SCALE,) * 3
    error = draw.mul_(2).sub_(1).mul_(constant(bounds, clean)).mul_(seen)
    shift, angles, spin = error.split((6, 3, 3), -1)
    moving.add_(shift)
    rotation.copy_(perturb(rotation, angles))
    turning.add_(spin)
    return noisy


def draw_permutations(n: int, generator: torch.Generator) -> Tensor:
    """Draw n uniform slot permutations, (n, N): slot j of a frame shows ball perm[:, j]."""
    return torch.rand(n, MAX_BALLS, generator=generator, device=generator.device).argsort(-1)


def permute_slots(frame: Tensor, permutation: Tensor) -> Tensor:
    """Reorder the slots of a frame (n, N, d)."""
    first = torch.arange(0, permutation.numel(), permutation.shape[1], device=frame.device)
    rows = (permutation + first.unsqueeze(-1)).flatten()
    return frame.flatten(0, 1).index_select(0, rows).view_as(frame)


def push(history: Tensor, frame: Tensor) -> Tensor:
    """Return a fresh history (n, T, ...) with the oldest frame dropped and the new one last."""
    return torch.cat([history[:, 1:], frame.unsqueeze(1)], 1)


def refill(history: Tensor, env_ids: Tensor, frame: Tensor) -> None:
    """Fill the whole history of some environments with their first frame, in place."""
    history[env_ids] = frame.unsqueeze(1).expand(-1, history.shape[1], *frame.shape[1:])
