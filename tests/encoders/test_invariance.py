"""Each encoder is invariant to its declared group and to no larger one (propositions 1 and 2)."""

from collections.abc import Callable
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from s2m.config.encoder import EncoderCfg, cards
from s2m.encoders.registry import encoder_class, make_encoder
from s2m.encoders.symmetry import permute, sample

H, N, D = 4, 5, 14
DEEP_SETS = ("dshc", "pfds")
VARIANTS = [(name, "sum") for name in cards()] + [
    (name, pool) for name in DEEP_SETS for pool in ("mean", "max")
]
INVARIANT_TO = {
    group: [variant for variant in VARIANTS if encoder_class(variant[0]).group in groups]
    for group, groups in {"G_diag": ("G_diag", "G_frame"), "G_frame": ("G_frame",)}.items()
}
SENSITIVE_TO = {
    group: [variant for variant in VARIANTS if variant not in invariant]
    for group, invariant in INVARIANT_TO.items()
}
EXACT, VISIBLE = 1e-5, 1e-3

Function = Callable[[Tensor, Tensor], Tensor]


def pairs(table: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    return [(group, *variant) for group, variants in table.items() for variant in variants]


def random_history(seed: int, batch: int, counts: list[int]) -> tuple[Tensor, Tensor]:
    """Draw histories of order 1 with counts[t] active balls in random slots of frame t."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.arange(N) < torch.tensor(counts).unsqueeze(-1)
    mask = permute(sample("G_frame", batch, H, N, generator), first.expand(batch, H, N))
    return torch.randn(batch, H, N, D, generator=generator), mask


@cache
def unit_scale(name: str, pool: str, seed: int) -> Function:
    """Build an encoder with random weights, its output scaled to unit deviation."""
    torch.manual_seed(seed)
    encoder = make_encoder(EncoderCfg(name, width=16, embedding=16, pool=pool), H, N, D)
    with torch.no_grad():
        scale = encoder(*random_history(seed, 256, [N] * H)).std()
    return lambda x, mask: encoder(x, mask) / scale


def largest_change(encode: Function, x: Tensor, mask: Tensor, element: Tensor) -> float:
    with torch.no_grad():
        change = encode(permute(element, x), permute(element, mask)) - encode(x, mask)
    return change.abs().max().item()


@pytest.mark.parametrize(("group", "name", "pool"), pairs(INVARIANT_TO))
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    counts=st.lists(st.integers(0, N), min_size=H, max_size=H),
    duplicates=st.booleans(),
)
def test_output_keeps_under_declared_group(group, name, pool, seed, counts, duplicates):
    x, mask = random_history(seed, 3, counts)
    if duplicates:
        x[:, :, 1:3] = x[:, :, :1]
    element = sample(group, 3, H, N, torch.Generator().manual_seed(seed))
    assert largest_change(unit_scale(name, pool, seed % 7), x, mask, element) <= EXACT


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [2, N])
@pytest.mark.parametrize(("group", "name", "pool"), pairs(SENSITIVE_TO))
def test_larger_group_has_a_witness(group, name, pool, count, seed):
    x, mask = random_history(seed, 16, [count] * H)
    element = sample(group, 16, H, N, torch.Generator().manual_seed(seed))
    assert largest_change(unit_scale(name, pool, seed), x, mask, element) > VISIBLE


def test_declared_groups_are_those_of_the_paper():
    assert {name: encoder.group for name, encoder in cards().items()} == {
        "flat_mlp": "G_0",
        "branch_mlp": "G_0",
        "dshc": "G_diag",
        "set_transformer": "G_diag",
        "pfds": "G_frame",
        "set_transformer_pf": "G_frame",
    }
