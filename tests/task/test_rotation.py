"""Small rotations against scipy."""

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from s2m.task.rotation import perturb


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
