"""Attention against torch's own, and masks against sets that really are smaller."""

import pytest
import torch
from torch import nn

from s2m.encoders import attention
from s2m.encoders.blocks import ISAB, PMA

WIDTH, HEADS = 8, 2


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_attention_equals_torch(narrow, masked, monkeypatch):
    monkeypatch.setattr(attention, "NARROW", WIDTH if narrow else 0)
    query, key, value = torch.randn(7, 3, WIDTH), *torch.randn(2, 7, 5, WIDTH)
    mask = torch.rand(7, 5) < 0.6
    mask[:, 0] = True
    reference = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.eye(WIDTH).repeat(3, 1))
        reference.out_proj.weight.copy_(torch.eye(WIDTH))
    expected, _ = reference(query, key, value, key_padding_mask=~mask if masked else None)
    attended = attention.attend(query, key, value, mask if masked else None, HEADS)
    torch.testing.assert_close(attended, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("masked", [True, False])
def test_more_sets_than_the_fused_kernel_takes_are_split(masked, monkeypatch):
    query, key, value = torch.randn(7, 3, WIDTH), *torch.randn(2, 7, 5, WIDTH)
    mask = torch.arange(5).expand(7, 5) < 3 if masked else None
    monkeypatch.setattr(attention, "NARROW", 0)
    whole = attention.attend(query, key, value, mask, HEADS)
    given = []
    fused = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        attention.F,
        "scaled_dot_product_attention",
        lambda query, *rest, **more: given.append(len(query)) or fused(query, *rest, **more),
    )
    monkeypatch.setattr(attention, "MOST_SETS", 3)
    torch.testing.assert_close(attention.attend(query, key, value, mask, HEADS), whole)
    assert given == [3, 3, 1]


def test_masked_elements_are_absent():
    x, mask = torch.randn(6, 5, WIDTH), torch.arange(5).expand(6, 5) < 3
    small, all_active = x[:, :3], mask[:, :3]
    isab, pma = ISAB(WIDTH, HEADS, 4), PMA(WIDTH, HEADS)
    torch.testing.assert_close(isab(x, mask)[:, :3], isab(small, all_active))
    torch.testing.assert_close(pma(x, mask), pma(small, all_active))


def test_empty_sets_give_zeros():
    x, mask = torch.randn(2, 5, WIDTH), torch.zeros(2, 5, dtype=torch.bool)
    assert not ISAB(WIDTH, HEADS, 4)(x, mask).any()
    assert not PMA(WIDTH, HEADS)(x, mask).any()


def test_isab_is_equivariant():
    x, mask = torch.randn(6, 5, WIDTH), torch.rand(6, 5) < 0.6
    order = torch.randperm(5)
    isab = ISAB(WIDTH, HEADS, 4)
    torch.testing.assert_close(isab(x[:, order], mask[:, order]), isab(x, mask)[:, order])
