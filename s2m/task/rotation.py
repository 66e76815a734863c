"""Rotations by quaternions (w, x, y, z) in torch, components on the last axis."""

import torch
from torch import Tensor


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return a * b (..., 4): first b, then a."""
    v, w = a[..., 1:], b[..., 1:]
    scalar = a[..., :1] * b[..., :1] - (v * w).sum(-1, keepdim=True)
    vector = a[..., :1] * w + b[..., :1] * v + torch.linalg.cross(v, w)
    return torch.cat([scalar, vector], -1)


def conjugate(q: Tensor) -> Tensor:
    """Return the inverse of unit quaternions."""
    return torch.cat([q[..., :1], -q[..., 1:]], -1)


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors (..., 3) by unit quaternions."""
    twice = 2 * torch.linalg.cross(q[..., 1:], v)
    return v + q[..., :1] * twice + torch.linalg.cross(q[..., 1:], twice)


def upper(q: Tensor) -> Tensor:
    """Pick of the two quaternions of each rotation the one with w >= 0."""
    return torch.where(q[..., :1] < 0, -q, q)


def perturb(q: Tensor, angles: Tensor) -> Tensor:
    """Turn quaternions q (..., 4) by small rotation vectors (..., 3); zero stays zero."""
    half, w, v = 0.5 * angles, q[..., :1], q[..., 1:]
    scalar = w - (half * v).sum(-1, keepdim=True)
    turned = torch.cat([scalar, v + w * half + torch.linalg.cross(half, v)], -1)
    return turned / turned.norm(dim=-1, keepdim=True).clamp(min=1e-9)
