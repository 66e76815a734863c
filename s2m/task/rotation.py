"""Quaternions (w, x, y, z) in batches."""

import torch
from torch import Tensor


def conjugate_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return conj(a) * b, the rotation b seen from the frame a, for quaternions (..., 4)."""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        [
            aw * bw + ax * bx + ay * by + az * bz,
            aw * bx - ax * bw - ay * bz + az * by,
            aw * by + ax * bz - ay * bw - az * bx,
            aw * bz - ax * by + ay * bx - az * bw,
        ],
        -1,
    )


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors v (..., 3) by quaternions q (..., 4)."""
    u = q[..., 1:]
    t = 2.0 * torch.linalg.cross(u, v)
    return v + q[..., :1] * t + torch.linalg.cross(u, t)


def matrix(q: Tensor) -> Tensor:
    """Return rotation matrices (..., 3, 3) of quaternions (..., 4)."""
    w, x, y, z = q.unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def upper(q: Tensor) -> Tensor:
    """Pick of the two quaternions of each rotation the one with w >= 0."""
    return torch.where(q[..., :1] < 0, -q, q)


def perturb(q: Tensor, angles: Tensor) -> Tensor:
    """Turn quaternions q (..., 4) by small rotation vectors (..., 3), to first order; zero stays zero."""
    w, x, y, z = q.unbind(-1)
    a, b, c = (0.5 * angles).unbind(-1)
    turned = torch.stack(
        [
            w - a * x - b * y - c * z,
            x + a * w + b * z - c * y,
            y - a * z + b * w + c * x,
            z + a * y - b * x + c * w,
        ],
        -1,
    )
    return turned / turned.norm(dim=-1, keepdim=True).clamp(min=1e-9)
