import math

import pytest
import torch

from s2m.config.task import TaskCfg
from s2m.task.geometry import tilt
from s2m.task.terminations import ball_dropped, robot_fell


def test_a_ball_lower_than_the_base_has_dropped(make_state):
    state = make_state([[(0.0, 0.0)], [(0.0, 0.0)]])
    state.ball_position[:, 0, 2] = torch.tensor([0.01, -0.01])
    assert ball_dropped(state).tolist() == [False, True]


def test_lower_means_along_gravity_not_along_the_trunk(make_state):
    """With the trunk pitched by 60 degrees, a ball 0.1 m ahead on its back is below the base."""
    pitch = math.radians(60)
    state = make_state([[(0.2, 0.0)]])
    state.ball_position[0, 0, 2] = 0.1
    state.gravity[:] = torch.tensor([[math.sin(pitch), 0.0, -math.cos(pitch)]])
    assert ball_dropped(state).item()


def test_inactive_slots_cannot_drop(make_state):
    state = make_state([[(0.0, 0.0)]])
    state.ball_position[0, 3, 2] = -1.0
    assert not ball_dropped(state).item()


def fell_over(state):
    return robot_fell(state, tilt(state.gravity), TaskCfg())


@pytest.mark.parametrize(("roll", "fell"), [(0, False), (89, False), (91, True), (-100, True)])
def test_roll_beyond_ninety_degrees(make_state, roll, fell):
    angle = math.radians(roll)
    state = make_state([[(0.0, 0.0)]])
    state.gravity[:] = torch.tensor([[0.0, -math.sin(angle), -math.cos(angle)]])
    assert fell_over(state).item() is fell


def test_low_base(make_state):
    state = make_state([[(0.0, 0.0)]], base_height=torch.tensor([[0.17]]))
    assert fell_over(state).item()
