"""Small rotations of quaternions (w, x, y, z)."""

import torch
from torch import Tensor


def perturb(q: Tensor, angles: Tensor) -> Tensor:
    """Turn quaternions q (..., 4) by small rotation vectors (..., 3); zero stays zero."""
    half, w, v = 0.5 * angles, q[..., :1], q[..., 1:]
    scalar = w - (half * v).sum(-1, keepdim=True)
    turned = torch.cat([scalar, v + w * half + torch.linalg.cross(half, v)], -1)
    return turned / turned.norm(dim=-1, keepdim=True).clamp(min=1e-9)
