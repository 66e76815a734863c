"""The groups act as groups, are drawn uniformly, and the audit measures known changes."""

import math
from itertools import permutations

import pytest
import torch
from scipy.stats import chisquare

from s2m.encoders.symmetry import audit, inverse, permute, sample

GROUPS = ("G_diag", "G_frame")


def compose(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the product g h, which acts as h and then g."""
    return first.gather(-1, second)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("group", GROUPS)
def test_left_action(group, generator):
    g, h = (sample(group, 50, 4, 5, generator) for _ in range(2))
    x = torch.randn(50, 4, 5, 3, generator=generator)
    assert torch.equal(permute(g, permute(h, x)), permute(compose(g, h), x))
    assert not torch.equal(permute(compose(h, g), x), permute(compose(g, h), x))


@pytest.mark.parametrize("group", GROUPS)
def test_inverse(group, generator):
    g = sample(group, 50, 4, 5, generator)
    x = torch.randn(50, 4, 5, generator=generator)
    assert torch.equal(permute(inverse(g), permute(g, x)), x)
    assert torch.equal(compose(g, inverse(g)), torch.arange(5).expand(50, 4, 5))


def test_action_follows_its_definition(generator):
    """(g X)_ti = x_t,pi^-1(i): what stood in slot j stands in slot pi(j)."""
    g = sample("G_frame", 2, 3, 4, generator)
    x = torch.randn(2, 3, 4, 6, generator=generator)
    moved = permute(g, x)
    for b in range(2):
        for t in range(3):
            for j in range(4):
                assert torch.equal(moved[b, t, g[b, t, j]], x[b, t, j])


def test_mask_moves_with_its_ball(generator):
    x = torch.randn(20, 4, 5, 3, generator=generator)
    g = sample("G_frame", 20, 4, 5, generator)
    assert torch.equal(permute(g, x[..., 0] > 0), permute(g, x)[..., 0] > 0)


def test_diagonal_elements_repeat_one_permutation(generator):
    g = sample("G_diag", 50, 4, 5, generator)
    assert (g == g[:, :1]).all()


@pytest.mark.parametrize(("group", "cells"), [("G_diag", 6), ("G_frame", 36)])
def test_uniform(group, cells, generator):
    """Two frames of three slots: every element of the group comes equally often."""
    draws = sample(group, 36_000, 2, 3, generator)
    number = {permutation: i for i, permutation in enumerate(permutations(range(3)))}
    counts: dict[tuple[int, int], int] = {}
    for first, second in draws.tolist():
        element = number[tuple(first)], number[tuple(second)]
        counts[element] = counts.get(element, 0) + 1
    assert len(counts) == cells
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_audit_of_a_policy_that_reads_one_slot(generator):
    """Slot 0 of the last frame holds 0, the others 1 to 4: the change is the new occupant."""
    balls = torch.arange(5.0).view(1, 1, 5, 1).expand(200, 4, 5, 14)
    result = audit(lambda x: x[:, -1, 0, :1], balls, 20, generator)
    for name in ("diag", "frame"):
        assert result[f"symmetry/{name}_max"] == 4
        assert result[f"symmetry/{name}_mean"] == pytest.approx(2, abs=0.1)


def test_audit_tells_the_groups_apart(generator):
    """A sum over slots of products over time is G_diag- but not G_frame-invariant."""
    balls = torch.randn(50, 4, 5, 14, generator=generator, dtype=torch.float64)
    result = audit(lambda x: x.prod(1).sum(1), balls, 4, generator)
    assert result["symmetry/diag_max"] < 1e-9
    assert result["symmetry/frame_mean"] > 0.1


def test_audit_does_not_hide_nan(generator):
    result = audit(lambda x: x[:, 0, 0] * math.nan, torch.ones(2, 4, 5, 14), 2, generator)
    assert all(math.isnan(value) for value in result.values())
    assert set(result) == {
        f"symmetry/{group}_{kind}" for group in ("diag", "frame") for kind in ("max", "mean")
    }
