"""Masked slots are absent: their content has no effect, and nothing breaks when all are."""

import pytest
import torch

from s2m.config.encoder import POOLS, EncoderCfg, cards
from s2m.encoders.base import history_tokens
from s2m.encoders.registry import make_encoder

VARIANTS = [(name, pool) for name in cards() for pool in POOLS]


def build(name: str, pool: str, dtype: torch.dtype = torch.float32):
    torch.manual_seed(1)
    return make_encoder(EncoderCfg(name, width=16, embedding=16, pool=pool), 4, 5, 14).to(dtype)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("name", "pool"), VARIANTS)
def test_garbage_in_masked_slots_has_no_effect(name, pool, dense):
    encoder = build(name, pool)
    encoder.dense = dense
    x, mask = torch.randn(16, 4, 5, 14), torch.rand(16, 4, 5) < 0.5
    garbage = torch.where(mask.unsqueeze(-1), x, 1e6 * torch.randn_like(x))
    garbage[~mask.unsqueeze(-1).expand_as(x) & (torch.rand_like(x) < 0.1)] = torch.nan
    assert torch.equal(encoder(x, mask), encoder(garbage, mask))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("name", "pool"), VARIANTS)
def test_empty_sets_have_finite_outputs_and_gradients(name, pool, dense):
    encoder = build(name, pool)
    encoder.dense = dense
    x = torch.randn(3, 4, 5, 14, requires_grad=True)
    mask = torch.zeros(3, 4, 5, dtype=torch.bool)
    mask[1, 0, 2] = True
    out = encoder(x, mask)
    out.square().sum().backward()
    assert out.isfinite().all()
    for tensor in (x, *encoder.parameters()):
        assert tensor.grad is not None and tensor.grad.isfinite().all()
    assert x.grad is not None and x.grad[1, 0, 2].abs().sum() > 0


@pytest.mark.parametrize(("name", "pool"), VARIANTS)
def test_dense_flag_changes_nothing_but_the_path(name, pool):
    encoder = build(name, pool, torch.float64)
    x, mask = torch.randn(8, 4, 5, 14, dtype=torch.float64), torch.rand(8, 4, 5) < 0.3
    sparse = encoder(x, mask)
    encoder.dense = True
    torch.testing.assert_close(sparse, encoder(x, mask), rtol=1e-12, atol=1e-12)
    assert sparse.shape == (8, 16) and sparse.dtype == torch.float64


def test_token_is_active_if_any_frame_is():
    x = torch.arange(2 * 3 * 2.0).view(1, 2, 3, 2)
    mask = torch.tensor([[[True, False, False], [False, True, False]]])
    tokens, active = history_tokens(x, mask)
    assert active.tolist() == [[True, True, False]]
    assert tokens[0, 1].tolist() == [2.0, 3.0, 8.0, 9.0]
