"""The student's gradient steps."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from s2m.config.distill import DistillCfg
from s2m.learning.dataset import Batch
from s2m.learning.imitation import Imitator
from s2m.policy.tactset import VECTOR

CFG = DistillCfg(
    channels=2, gru=4, embedding=4, hidden=[8], learning_rate=0.01, decay=0.1, weight_decay=0.0
)
STILL = replace(CFG, learning_rate=0.0)


def make_batch(label=1.0, lengths=(3, 2)):
    """Return trajectories of which every action is `label`."""
    total = sum(lengths)
    chance = torch.Generator().manual_seed(0)
    place = [t * len(lengths) + i for i, n in enumerate(lengths) for t in range(n)]
    return Batch(
        torch.randn(total, VECTOR, generator=chance),
        (torch.rand(total, 4, 16, 16, generator=chance) < 0.1).float(),
        torch.full((total, 12), label),
        torch.tensor(place),
        (max(lengths), len(lengths)),
    )


@pytest.fixture
def imitator():
    torch.manual_seed(0)
    return Imitator(CFG)


def test_the_student_comes_nearer_to_its_teacher(imitator):
    errors = []
    for _ in range(40):
        imitator.begin_epoch()
        imitator.update(make_batch(), progress=0.0)
        errors.append(imitator.error)
    assert errors[-1] < 0.3 * errors[0] and imitator.updates == 40


@pytest.mark.parametrize(("progress", "rate"), [(0.0, 0.01), (0.5, 0.0055), (1.0, 0.001)])
def test_the_learning_rate_falls_to_its_part_at_the_end_of_a_round(imitator, progress, rate):
    imitator.update(make_batch(), progress)
    assert imitator.metrics()["policy/learning_rate"] == pytest.approx(rate)


def test_the_error_of_an_epoch_weighs_every_step_alike():
    imitator = Imitator(STILL)
    batches = make_batch(0.0, (3, 2)), make_batch(2.0, (1,))
    losses = []
    for batch in batches:
        actions = imitator.student(batch.vector, batch.tactile, batch.place, batch.shape)
        losses.append((actions - batch.label).square().mean().item())
        imitator.update(batch, 0.0)
    found = imitator.metrics()
    assert found["loss/imitation"] == pytest.approx((5 * losses[0] + losses[1]) / 6)
    assert found["loss/error"] == pytest.approx(found["loss/imitation"] ** 0.5)


def test_a_saved_student_goes_on_bit_for_bit(imitator):
    imitator.update(make_batch(), 0.0)
    torch.manual_seed(1)
    other = Imitator(CFG)
    other.load_state_dict(deepcopy(imitator.state_dict()))
    for one in (imitator, other):
        one.update(make_batch(0.5), 0.3)
    assert other.metrics() == imitator.metrics() and other.updates == 2
    for mine, theirs in zip(imitator.student.parameters(), other.student.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_weight_that_is_no_number_is_noticed(imitator):
    assert imitator.is_finite()
    with torch.no_grad():
        next(iter(imitator.student.parameters())).view(-1)[0] = torch.nan
    assert not imitator.is_finite()
    assert imitator.parameters == sum(p.numel() for p in imitator.student.parameters())
