"""Skipping inactive slots changes the work, not the result."""

import pytest
import torch
from torch import Tensor, nn

from s2m.config.encoder import POOLS
from s2m.encoders.pooling import embed_and_pool


class CountingPhi(nn.Linear):
    """A linear phi that remembers how many elements it saw."""

    rows = 0

    def forward(self, input: Tensor) -> Tensor:
        self.rows = input.shape[:-1].numel()
        return super().forward(input)


def masked_sets(share: float, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.rand(32, 4, 5) < share
    mask[0] = False
    mask[1, 2] = False
    return torch.randn(32, 4, 5, 14, dtype=dtype), mask


@pytest.mark.parametrize("how", POOLS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
def test_sparse_path_equals_dense(how, share, dtype, tolerance):
    phi = CountingPhi(14, 8, dtype=dtype)
    results, gradients = [], []
    for dense in (False, True):
        x, mask = masked_sets(share, dtype)
        x.requires_grad_()
        pooled = embed_and_pool(phi, x, mask, how, dense)
        assert phi.rows == (mask.numel() if dense else mask.sum())
        gradients.append(torch.autograd.grad(pooled.square().sum(), [x, *phi.parameters()]))
        results.append(pooled)
    torch.testing.assert_close(*results, rtol=tolerance, atol=tolerance)
    for sparse, full in zip(*gradients, strict=True):
        torch.testing.assert_close(sparse, full, rtol=10 * tolerance, atol=10 * tolerance)


def test_dense_path_when_most_slots_are_active():
    phi = CountingPhi(14, 8)
    x, mask = masked_sets(1.0)
    embed_and_pool(phi, x, mask, "sum", dense=False)
    assert phi.rows == mask.numel()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("how", "expected"), [("sum", 1.0), ("mean", 0.5), ("max", 3.0)])
def test_pools_by_hand(how, expected, dense):
    """The set {3, -2} with a masked 10 beside it, and an empty set, which pools to zero."""
    x = torch.tensor([[[3.0], [10.0], [-2.0]], [[7.0], [7.0], [7.0]]])
    mask = torch.tensor([[True, False, True], [False, False, False]])
    pooled = embed_and_pool(nn.Identity(), x, mask, how, dense)
    assert pooled.tolist() == [[expected], [0.0]]
