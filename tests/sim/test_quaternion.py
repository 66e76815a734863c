"""Quaternion algebra against scipy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from s2m.sim.quaternion import conjugate, matrix, multiply, rotate, upper


@pytest.fixture
def pairs():
    a, b = (Rotation.random(50, rng=np.random.default_rng(seed)) for seed in (1, 2))
    return a, b, wxyz(a), wxyz(b)


def wxyz(rotation):
    return np.roll(rotation.as_quat(), 1, axis=-1).T.copy()


def test_product_inverse_matrix_and_rotation(pairs):
    a, b, p, q = pairs
    product, expected = multiply(p, q), wxyz(a * b)
    sign = np.sign((product * expected).sum(0))
    assert product * sign == pytest.approx(expected)
    assert np.moveaxis(matrix(p), -1, 0) == pytest.approx(a.as_matrix())
    assert np.moveaxis(matrix(conjugate(p)), -1, 0) == pytest.approx(a.inv().as_matrix())
    vectors = np.random.default_rng(0).normal(size=(50, 3))
    assert rotate(q, vectors.T).T == pytest.approx(b.apply(vectors))


def test_one_quaternion_acts_on_many(pairs):
    _, _, p, q = pairs
    many = np.stack([p, q], 1)
    together = multiply(p[:, None], many)
    assert together.shape == (4, 2, 50)
    assert together[:, 1] == pytest.approx(multiply(p, q))


def test_upper_is_the_same_rotation_with_positive_w(pairs):
    _, _, p, _ = pairs
    one, other = upper(p), upper(-p)
    assert np.array_equal(one, other) and (one[0] >= 0).all()
    assert np.abs(one) == pytest.approx(np.abs(p))
