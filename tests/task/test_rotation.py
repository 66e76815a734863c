"""Quaternion algebra against scipy."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from s2m.task.rotation import conjugate, matrix, multiply, perturb, rotate, upper


@pytest.fixture
def pairs():
    a, b = (Rotation.random(50, random_state=seed) for seed in (1, 2))
    return a, b, torch.from_numpy(wxyz(a)), torch.from_numpy(wxyz(b))


def wxyz(rotation):
    return np.roll(rotation.as_quat(), 1, axis=-1)


def test_product_inverse_matrix_and_rotation(pairs):
    a, b, p, q = pairs
    product, expected = multiply(p, q).numpy(), wxyz(a * b)
    sign = np.sign((product * expected).sum(-1, keepdims=True))
    assert product * sign == pytest.approx(expected)
    assert matrix(p).numpy() == pytest.approx(a.as_matrix())
    assert matrix(conjugate(p)).numpy() == pytest.approx(a.inv().as_matrix())
    vectors = np.random.default_rng(0).normal(size=(50, 3))
    assert rotate(q, torch.from_numpy(vectors)).numpy() == pytest.approx(b.apply(vectors))


def test_upper_is_the_same_rotation_with_positive_w(pairs):
    _, _, p, _ = pairs
    both = upper(torch.cat([p, -p]))
    assert torch.equal(both[:50], both[50:]) and (both[:, 0] >= 0).all()


def test_perturb_turns_by_the_small_vector_on_the_left(pairs):
    a, _, p, _ = pairs
    angles = np.random.default_rng(1).uniform(-0.05, 0.05, (50, 3))
    turned = perturb(p, torch.from_numpy(angles))
    error = (
        Rotation.from_quat(np.roll(turned.numpy(), -1, -1))
        * (Rotation.from_rotvec(angles) * a).inv()
    )
    assert error.magnitude().max() < 1e-4
    assert not perturb(torch.zeros(3, 4), torch.ones(3, 3)).any()
