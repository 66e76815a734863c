import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from s2m.task import geometry


def largest_margin(k: int) -> float:
    """Largest minimum margin that k balls can have at once."""
    return float(geometry.support_margin(torch.tensor(geometry.packing(k))).min())


def test_margin_is_one_in_the_centre_zero_on_the_edge_negative_outside():
    places = torch.tensor([[0.0, 0.0], [0.112, 0.0], [0.0, -0.0755], [0.056, 0.0], [0.0, 0.0906]])
    expected = torch.tensor([1.0, 0.0, 0.0, 0.5, -0.2])
    assert torch.allclose(geometry.support_margin(places), expected, atol=1e-6)


def test_margin_takes_the_nearer_axis():
    # x: 1 - 0.028/0.112 = 0.75; y: 1 - 0.0453/0.0755 = 0.4
    assert geometry.support_margin(torch.tensor([0.028, 0.0453])).item() == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], 0.5),
        # 0.4 * 2 = 0.8 of the lowest value, divided by 0.8
        ([0.2, 0.6], 0.2),
        # 0.4 * 3 = 1.2: all of 0.1 and a fifth of 0.4
        ([0.4, 0.1, 0.9], (0.1 + 0.2 * 0.4) / 1.2),
        # 0.4 * 4 = 1.6
        ([0.4, 0.3, 0.2, 0.1], (0.1 + 0.6 * 0.2) / 1.6),
        # 0.4 * 5 = 2: the mean of the two lowest
        ([0.5, -0.1, 0.3, 0.9, 0.7], (-0.1 + 0.3) / 2),
    ],
)
def test_tail_mean_is_the_exact_fractional_cvar(values, expected):
    padded = torch.tensor([values + [7.0] * (5 - len(values))])
    mask = torch.tensor([[True] * len(values) + [False] * (5 - len(values))])
    assert geometry.tail_mean(padded, mask, 0.4).item() == pytest.approx(expected)


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=10), st.floats(0.05, 1))
def test_tail_mean_is_the_minimum_of_its_variational_form(values, share):
    """CVaR (lower tail) = max_c { c - E[(c - v)^+] / share } (Rockafellar and Uryasev)."""
    tensor = torch.tensor([values], dtype=torch.float64)
    got = geometry.tail_mean(tensor, torch.ones_like(tensor, dtype=torch.bool), share).item()
    best = max(
        c - sum(max(c - v, 0) for v in values) / len(values) / share for v in values for c in [v]
    )
    assert got == pytest.approx(best, abs=1e-9)


def test_empty_tail_and_mean_are_zero():
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    assert geometry.tail_mean(torch.ones(1, 3), nothing, 0.4).item() == 0
    assert geometry.masked_mean(torch.ones(1, 3), nothing).item() == 0


def test_pairs_are_those_of_two_active_balls():
    position = torch.zeros(1, 5, 3)
    position[0, 1] = torch.tensor([0.03, 0.04, 9.0])
    position[0, 2] = torch.tensor([0.0, 0.08, 0.0])
    active = torch.tensor([[True, True, False, False, False]])
    distance, joined = geometry.pair_distances(position, active)
    assert joined.sum() == 1
    assert distance[joined].item() == pytest.approx(0.05)


def test_roll_is_right_beyond_ninety_degrees():
    angles = torch.tensor([0.0, 30.0, 89.0, 91.0, 150.0, -120.0]).deg2rad()
    gravity = torch.stack([torch.zeros(6), -angles.sin(), -angles.cos()], -1)
    assert torch.allclose(geometry.tilt(gravity)[:, 0], angles, atol=1e-6)


@pytest.mark.parametrize(
    ("k", "margin"), [(1, 1.0), (2, 0.593), (3, 0.415), (4, 0.325), (5, 0.186)]
)
def test_packings_have_the_stated_margin_and_touch_at_most(k, margin):
    places = geometry.packing(k)
    assert largest_margin(k) == pytest.approx(margin, abs=2e-3)
    for (ax, ay), (bx, by) in itertools.combinations(places, 2):
        assert ((ax - bx) ** 2 + (ay - by) ** 2) ** 0.5 >= 0.1099


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_no_small_move_improves_a_packing(k):
    """Maximise the smallest margin t subject to clearance, starting from the packing."""
    start = [*itertools.chain(*geometry.packing(k)), largest_margin(k)]
    pairs = list(itertools.combinations(range(k), 2))
    half_x, half_y = geometry.HALF_PLATE
    inside = [
        {"type": "ineq", "fun": lambda z, i=i, s=s, h=h: (1 - s * z[i] / h) - z[-1]}
        for j in range(k)
        for i, h in ((2 * j, half_x), (2 * j + 1, half_y))
        for s in (1, -1)
    ]
    apart = [
        {
            "type": "ineq",
            "fun": lambda z, a=a, b=b: (
                ((z[2 * a] - z[2 * b]) ** 2 + (z[2 * a + 1] - z[2 * b + 1]) ** 2 - 0.11**2) * 100
            ),
        }
        for a, b in pairs
    ]
    best = minimize(lambda z: -z[-1], start, constraints=inside + apart, method="SLSQP")
    assert -best.fun <= largest_margin(k) + 2e-3
