"""What is collected for a student: whole control steps, labelled, repeatable."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from s2m.config.distill import DistillCfg, StudentCfg
from s2m.config.sim import DummyCfg
from s2m.learning.collection import Collection, collect, collections, seed_of
from s2m.learning.dataset import STEP
from s2m.learning.teacher import Classroom

FIRST = Collection(0, 0, 12)


@given(
    st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 50), st.integers(1, 60),
    st.integers(0, 2),
)  # fmt: skip
def test_a_round_has_the_steps_it_wants_and_less_than_one_more_each(first, later, envs, most, at):
    cfg = DistillCfg(bc_steps=first, dagger_steps=later, num_envs=envs)
    found = list(collections(cfg, at, most))
    wanted = later if at else first
    assert 0 <= sum(part.steps for part in found) * envs - wanted < envs
    assert all(0 < part.steps <= most for part in found)
    assert [part.steps for part in found[:-1]] == [most] * (len(found) - 1)
    assert [part.part for part in found] == list(range(len(found)))
    assert len({part.file for part in found}) == len(found)


def test_every_purpose_has_a_seed_of_its_own():
    seeds = {seed_of(seed, words) for seed in (0, 1) for words in ("a/0/0", "a/0/1", "b")}
    assert len(seeds) == 6 and all(0 <= seed < 2**63 for seed in seeds)
    assert seed_of(1, "a") == seed_of(1, "a")


def student(**changes):
    cfg = StudentCfg(sim=DummyCfg(), distill=DistillCfg(num_envs=7, levels=[2, 5]))
    cfg.taught_by.variant = "lqr"
    cfg.task.episode_steps = 10
    return replace(cfg, **changes)


def gather(cfg, what=FIRST, driver=None):
    told = []
    steps = collect(cfg, Classroom(cfg), driver, what, told.append)
    assert told == list(range(1, what.steps + 1))
    return steps


def test_every_step_of_every_environment_is_labelled():
    steps = gather(student())
    assert steps.shape == (7, 12) and steps.dtype == STEP
    assert steps["label"].any(-1).mean() > 0.9
    assert steps["first"][:, 0].all() and steps["first"][:, 10].all()
    assert steps["map"].any(-1).all()


@pytest.mark.parametrize(
    ("changes", "what", "same"),
    [
        ({}, FIRST, True),
        ({}, Collection(0, 1, 12), False),
        ({}, Collection(1, 0, 12), False),
        ({"seed": 41}, FIRST, False),
    ],
)
def test_seed_round_and_part_decide_a_collection(changes, what, same):
    before, after = gather(student()), gather(student(**changes), what)
    assert np.array_equal(before["proprio"], after["proprio"]) is same


def test_a_driver_acts_and_the_teacher_still_labels():
    def full_tilt(env):
        return lambda: torch.ones(env.num_envs, 12)

    taught, driven = gather(student()), gather(student(), driver=full_tilt)
    assert np.array_equal(taught["label"][:, 0], driven["label"][:, 0])
    assert not np.array_equal(taught["proprio"][:, 5], driven["proprio"][:, 5])
    assert not (driven["label"] == 1).all()
