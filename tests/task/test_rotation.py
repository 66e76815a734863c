"""Rotations against scipy."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from s2m.task.rotation import conjugate, multiply, perturb, rotate, upper


def test_perturb_turns_by_the_small_vector_on_the_left():
    random = np.random.default_rng(1)
    a = Rotation.random(50, rng=random)
    angles = random.uniform(-0.05, 0.05, (50, 3))
    q = torch.from_numpy(np.roll(a.as_quat(), 1, -1))
    turned = perturb(q, torch.from_numpy(angles))
    error = (
        Rotation.from_quat(np.roll(turned.numpy(), -1, -1))
        * (Rotation.from_rotvec(angles) * a).inv()
    )
    assert error.magnitude().max() < 1e-4
    assert not perturb(torch.zeros(3, 4), torch.ones(3, 3)).any()


def test_product_inverse_and_rotation():
    a, b = (Rotation.random(50, np.random.default_rng(seed)) for seed in (1, 2))
    p, q = (torch.from_numpy(np.roll(x.as_quat(), 1, -1)) for x in (a, b))
    product = np.roll(upper(multiply(p, q)).numpy(), -1, -1)
    assert (Rotation.from_quat(product) * (a * b).inv()).magnitude().max() < 1e-7
    assert (product[:, 3] >= 0).all()
    vectors = np.random.default_rng(0).normal(size=(50, 3))
    assert rotate(p, torch.from_numpy(vectors)).numpy() == pytest.approx(a.apply(vectors))
    back = rotate(conjugate(p), rotate(p, torch.from_numpy(vectors)))
    assert back.numpy() == pytest.approx(vectors)


def test_one_quaternion_acts_on_many():
    q = torch.nn.functional.normalize(torch.randn(3, 1, 4, dtype=torch.double), dim=-1)
    many = torch.nn.functional.normalize(torch.randn(3, 5, 4, dtype=torch.double), dim=-1)
    assert torch.allclose(multiply(q, many)[:, 2], multiply(q[:, 0], many[:, 2]))
    assert torch.allclose(rotate(q, many[..., :3])[:, 4], rotate(q[:, 0], many[:, 4, :3]))
