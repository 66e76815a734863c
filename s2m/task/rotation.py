"""Quaternions (w, x, y, z) in batches.

Products are written as one table look-up and one sum: on small batches the number of operations
costs more than their arithmetic.
"""

from functools import cache

import torch
from torch import Tensor

# (a * b)_i = sum_j SIGN[i][j] a_INDEX[i][j] b_j
_INDEX = ((0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))
_SIGN = ((1, -1, -1, -1), (1, 1, -1, 1), (1, 1, 1, -1), (1, -1, 1, 1))
# R_ij = sum_ab TABLE[3i+j][4a+b] q_a q_b for a unit quaternion
_SQUARES = {
    0: {(0, 0): 1, (1, 1): 1, (2, 2): -1, (3, 3): -1}, 1: {(1, 2): 2, (0, 3): -2},
    2: {(1, 3): 2, (0, 2): 2}, 3: {(1, 2): 2, (0, 3): 2},
    4: {(0, 0): 1, (1, 1): -1, (2, 2): 1, (3, 3): -1}, 5: {(2, 3): 2, (0, 1): -2},
    6: {(1, 3): 2, (0, 2): -2}, 7: {(2, 3): 2, (0, 1): 2},
    8: {(0, 0): 1, (1, 1): -1, (2, 2): -1, (3, 3): 1},
}  # fmt: skip


@cache
def _tables(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return product indices and signs, the conjugation and the square table on a device."""
    squares = torch.zeros(16, 9, dtype=dtype, device=device)
    for entry, terms in _SQUARES.items():
        for (a, b), factor in terms.items():
            squares[4 * a + b, entry] = factor
    conjugation = torch.tensor([1, -1, -1, -1], dtype=dtype, device=device)
    index = torch.tensor(_INDEX, device=device)
    return index, torch.tensor(_SIGN, dtype=dtype, device=device), conjugation, squares


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return a * b, first b then a, for quaternions (..., 4)."""
    index, sign, _, _ = _tables(a.dtype, a.device)
    return (a[..., index] * sign * b.unsqueeze(-2)).sum(-1)


def conjugate(q: Tensor) -> Tensor:
    """Return the inverse of unit quaternions."""
    return q * _tables(q.dtype, q.device)[2]


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors v (..., 3) by quaternions q (..., 4)."""
    u = q[..., 1:]
    t = 2.0 * torch.linalg.cross(u, v)
    return v + q[..., :1] * t + torch.linalg.cross(u, t)


def matrix(q: Tensor) -> Tensor:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    squares = _tables(q.dtype, q.device)[3]
    products = (q.unsqueeze(-1) * q.unsqueeze(-2)).flatten(-2)
    return (products @ squares).unflatten(-1, (3, 3))


def upper(q: Tensor) -> Tensor:
    """Pick of the two quaternions of each rotation the one with w >= 0."""
    return torch.where(q[..., :1] < 0, -q, q)


def perturb(q: Tensor, angles: Tensor) -> Tensor:
    """Turn quaternions q (..., 4) by small rotation vectors (..., 3); zero stays zero."""
    half, w, v = 0.5 * angles, q[..., :1], q[..., 1:]
    scalar = w - (half * v).sum(-1, keepdim=True)
    turned = torch.cat([scalar, v + w * half + torch.linalg.cross(half, v)], -1)
    return turned / turned.norm(dim=-1, keepdim=True).clamp(min=1e-9)
