"""Promotion criteria and windows, on scripted episodes."""

import math
from typing import Any

import pytest
import torch

from s2m.config.curriculum import CRITERIA, CurriculumCfg
from s2m.task.curriculum import Curriculum
from s2m.task.scene import Scene

GOOD = {
    "margin": 0.5, "dangerous": 0.0, "edge": 0.0, "linear_error": 0.1, "yaw_error": 0.1,
}  # fmt: skip
LENGTH = 10


def scene(n, *, margin=0.5, dangerous=0.0, edge=0.0, linear_error=0.1, yaw_error=0.1, step=0):
    """A step in which the first parts of the environments are dangerous or have a ball outside."""
    share = torch.arange(n) / n
    outside = torch.zeros(n, 5, dtype=torch.bool)
    outside[:, 2] = share < edge
    return Scene(
        active=torch.ones(n, 5, dtype=torch.bool),
        margin=torch.full((n, 5), margin),
        minimum_margin=torch.full((n,), margin),
        dangerous=share < dangerous,
        outside=outside,
        plate_velocity=torch.zeros(n, 5, 3),
        linear_error=torch.full((n,), linear_error),
        yaw_error=torch.full((n,), yaw_error),
        tilt=torch.zeros(n, 2),
    )


def make(n=100, **changes):
    settings: Any = dict(window=100, check_steps=1, min_stage_episodes=0, min_steps_per_level=0)
    return Curriculum(CurriculumCfg(**{**settings, **changes}), n, LENGTH, "cpu")


def run(curriculum, n=100, episodes=1, length=LENGTH, **measures):
    """Run whole episodes in all environments; return the events."""
    events = []
    everyone = torch.arange(n)
    for _ in range(episodes):
        for step in range(length):
            curriculum.record(scene(n, **{**GOOD, **measures}))
            if step == length - 1:
                curriculum.finish(everyone)
            event = curriculum.advance()
            if event:
                events.append(event)
                curriculum.restart(everyone, counts=True)
                break
    return events


def test_good_episodes_promote_and_the_event_tells_why():
    curriculum = make()
    (event,) = run(curriculum)
    assert (event.level, event.step, event.episodes) == (2, LENGTH, 100)
    assert event.criteria == pytest.approx({"length_ratio": 1.0, **GOOD})
    assert curriculum.level == 2 and len(curriculum.finished) == 0


@pytest.mark.parametrize(
    ("name", "passing", "failing"),
    [
        ("margin", 0.301, 0.299),
        ("dangerous", 0.20, 0.21),
        ("edge", 0.02, 0.03),
        ("linear_error", 0.299, 0.301),
        ("yaw_error", 0.399, 0.401),
    ],
)
def test_each_criterion_alone_can_hold_a_promotion_back(name, passing, failing):
    assert run(make(), **{name: passing})
    curriculum = make()
    assert not run(curriculum, **{name: failing})
    broken = [item.name for item in curriculum.criteria() if not item.passed]
    assert broken == [name]


def test_length_ratio_is_the_sixth_criterion():
    curriculum = make()
    everyone = torch.arange(100)
    for step in range(LENGTH):
        curriculum.record(scene(100))
        if step == 3:  # 16 of 100 episodes end after 4 of 10 steps
            curriculum.finish(everyone[:16])
    curriculum.finish(everyone[16:])
    values = {item.name: item for item in curriculum.criteria()}
    # By begin: the 100 first episodes; the 16 that followed them began later and still run.
    assert values["length_ratio"].value == pytest.approx((16 * 4 + 84 * 10) / 1000)
    assert values["length_ratio"].passed  # 0.904
    curriculum = make()
    for step in range(LENGTH):
        curriculum.record(scene(100))
        if step == 3:
            curriculum.finish(everyone[:30])
    curriculum.finish(everyone[30:])
    assert {i.name for i in curriculum.criteria() if not i.passed} == {"length_ratio"}


def test_a_window_does_not_cut_between_episodes_that_began_together():
    """All begin at once, 30 of 100 end early: the 50 that ended last would all be long."""
    curriculum, everyone = make(window=50), torch.arange(100)
    for step in range(LENGTH):
        curriculum.record(scene(100))
        if step == 3:
            curriculum.finish(everyone[:30])
            curriculum.counts[:30] = False
    curriculum.finish(everyone[30:])
    ratio = (30 * 4 + 70 * 10) / 1000
    assert curriculum.criteria()[0].value == pytest.approx(ratio)
    curriculum.advance()  # forgets what no window can reach
    assert curriculum.criteria()[0].value == pytest.approx(ratio)
    assert len(curriculum.finished) == 100 and curriculum.episodes == 0


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_thresholds_are_the_papers_table(level):
    table = {
        1: (0.85, 0.30, 0.20, 0.02, 0.30, 0.40),
        2: (0.85, 0.25, 0.25, 0.03, 0.35, 0.45),
        3: (0.85, 0.20, 0.30, 0.04, 0.40, 0.50),
        4: (0.85, 0.15, 0.35, 0.05, 0.45, 0.55),
    }
    curriculum = make(start=level)
    assert tuple(curriculum.threshold(name) for name in CRITERIA) == table[level]


def test_failures_that_finish_first_do_not_count_alone():
    """Half the environments fail at once, over and over; the others will survive.

    Long before the good episodes end, dozens of failures have finished. None is eligible yet.
    """
    curriculum = make()
    bad = torch.arange(50)
    for _ in range(LENGTH - 1):
        curriculum.record(scene(100))
        curriculum.finish(bad)
        assert len(curriculum.window()) == 0
    assert all(math.isnan(item.value) for item in curriculum.criteria())
    curriculum.record(scene(100))
    curriculum.finish(torch.arange(100))
    # The cohort that began at step 0: 50 episodes of length 1 and 50 of length 10.
    assert len(curriculum.window()) == 100
    assert curriculum.criteria()[0].value == pytest.approx((50 * 1 + 50 * 10) / 100 / LENGTH)


def test_episodes_with_a_shifted_clock_do_not_count():
    curriculum = make()
    curriculum.restart(torch.arange(100), counts=False)
    assert not run(curriculum)
    assert len(curriculum.window()) == 0
    assert run(curriculum)


def test_min_stage_episodes_and_min_steps_hold_back():
    assert run(make(min_stage_episodes=300), episodes=5)[0].step == 3 * LENGTH
    assert run(make(min_steps_per_level=25), episodes=5)[0].step == 25


def test_required_successes_must_come_in_a_row():
    curriculum = make(required_successes=3, check_steps=LENGTH)
    assert not run(curriculum, episodes=2)
    assert not run(curriculum, margin=0.1)
    assert curriculum.successes == 0
    assert not run(curriculum, episodes=2)
    assert run(curriculum)[0].step == 6 * LENGTH


def test_the_window_rolls():
    curriculum = make(window=50, stop=1)
    run(curriculum, margin=0.1)
    run(curriculum, margin=0.4, episodes=2)
    assert curriculum.criteria()[1].value == pytest.approx(0.4)


def test_no_promotion_beyond_the_last_level():
    curriculum = make(start=5)
    assert not run(curriculum, episodes=3)
    assert curriculum.level == 5


def test_saved_state_goes_on_exactly():
    first, second = make(), make()
    run(first, margin=0.2, length=6)
    second.load_state_dict(first.state_dict())
    assert run(first, episodes=3) == run(second, episodes=3)
    assert torch.equal(first.sums, second.sums)


def test_the_store_of_episodes_stays_short_at_the_last_level():
    curriculum = make(start=5)
    sizes = []
    for _ in range(20):
        assert run(curriculum, margin=0.3) == []
        sizes.append(len(curriculum.finished))
    assert max(sizes) <= 200
    assert {item.name: item.value for item in curriculum.criteria()}["margin"] == pytest.approx(0.3)
