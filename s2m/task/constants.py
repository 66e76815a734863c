"""Constant tensors, made once."""

from functools import cache

import torch
from torch import Tensor


def constant(values: tuple[float, ...], like: Tensor) -> Tensor:
    """Return numbers as a tensor with the type and device of another one; do not write into it."""
    return _make(values, like.dtype, like.device)


@cache
def _make(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=device)
