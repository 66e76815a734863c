"""The closed forms of the paper's proofs (appendix A)."""

from itertools import permutations, product

import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from s2m.encoders.base import history_tokens
from s2m.encoders.symmetry import permute, quotient_ratio

numbers = st.integers(-50, 50)
IDENTITY_THEN_SWAP = torch.tensor([[[0, 1], [1, 0]]])


def tokens_of(x: Tensor) -> Tensor:
    """Return y_1 and y_2 as rows, (2, 2)."""
    return history_tokens(x, torch.ones(1, 2, 2, dtype=torch.bool))[0][0]


@given(a=numbers, b=numbers, c=numbers, d=numbers)
def test_counter_example_of_proposition_2(a, b, c, d):
    """With phi(y) = vec(y y^T) and g = (id, (12)) the output moves by (a - b)(d - c)."""
    x = torch.tensor([[[[a], [b]], [[c], [d]]]], dtype=torch.float64)
    tokens, moved = tokens_of(x), tokens_of(permute(IDENTITY_THEN_SWAP, x))
    assert (moved.T @ moved - tokens.T @ tokens)[0, 1] == (a - b) * (d - c)
    assert torch.equal(moved.sum(0), tokens.sum(0))


def test_quotient_ratio_of_the_paper():
    assert quotient_ratio(frames=4, slots=5) == 1_728_000


def test_quotient_ratio_counts_elements():
    diagonal = list(permutations(range(3)))
    assert quotient_ratio(frames=2, slots=3) == len(list(product(diagonal, repeat=2))) / 6


@given(data=st.data(), size=st.integers(1, 5))
def test_power_sums_tell_multisets_apart(data, size):
    """Step (i) of theorem 1 in one dimension: degrees 1 to m are injective on m numbers."""
    balls = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
    one, other = data.draw(balls), data.draw(balls)
    assume(sorted(one) != sorted(other))
    degrees = range(1, size + 1)
    assert [sum(x**n for x in one) for n in degrees] != [sum(x**n for x in other) for n in degrees]
