"""ELU by exp instead of expm1: on a CPU half the time of torch's own, and a quarter of an update.

exp(x) - 1 loses digits near 0, where its absolute error is that of a number near 1 (6e-8): nothing
beside the rounding of the sums that follow.
"""

from typing import Any

import torch
from torch import Tensor, nn

from s2m.encoders.tracing import is_traced


class _ByExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        # max(x, exp(min(x, 0)) - 1): the second is 0 for x >= 0 and not below x for x < 0.
        out = x.clamp(max=0).exp_().sub_(1)
        torch.maximum(x, out, out=out)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        (out,) = ctx.saved_tensors
        return torch.ops.aten.elu_backward(gradient, 1, 1, 1, True, out)


class ELU(nn.ELU):
    """torch's ELU, faster on a CPU."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply x -> x for x > 0, exp(x) - 1 else."""
        if is_traced() or input.device.type != "cpu":
            return super().forward(input)
        return _ByExp.apply(input)  # pyright: ignore[reportReturnType]
