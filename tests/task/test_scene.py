"""What is shared of a state, against values found by hand."""

import pytest
import torch

from s2m.task.geometry import HALF_PLATE
from s2m.task.scene import observe, plate_velocity

HALF = HALF_PLATE[0]


def test_the_smallest_margin_is_that_of_the_balls_that_are_there(make_state):
    state = make_state([[(0.0, 0.0), (0.5 * HALF, 0.0)], [(0.0, 0.0)]])
    scene = observe(state, torch.zeros(2, 3), torch.tensor([0.6, 0.6]))
    assert scene.minimum_margin.tolist() == pytest.approx([0.5, 1.0])
    assert scene.dangerous.tolist() == [True, False]
    assert not scene.outside.any()


def test_only_a_ball_that_is_there_can_be_outside(make_state):
    state = make_state([[(1.1 * HALF, 0.0), (0.0, 0.0)]])
    scene = observe(state, torch.zeros(1, 3), torch.zeros(1))
    assert scene.outside.tolist() == [[True, False, False, False, False]]
    assert scene.dangerous.tolist() == [True]
    state.ball_active[:] = False
    assert not observe(state, torch.zeros(1, 3), torch.zeros(1)).outside.any()


def test_errors_are_distances_to_the_command(make_state):
    state = make_state(
        [[(0.0, 0.0)]],
        linear_velocity=torch.tensor([[0.5, 0.4, 9.0]]),
        angular_velocity=torch.tensor([[7.0, 7.0, -0.2]]),
    )
    scene = observe(state, torch.tensor([[0.2, 0.0, 0.1]]), torch.zeros(1))
    assert scene.linear_error.item() == pytest.approx(0.5)
    assert scene.yaw_error.item() == pytest.approx(0.3)


def test_a_ball_that_turns_with_the_plate_rests_on_it(make_state):
    rate, (x, y) = 2.0, (0.1, 0.05)
    still = make_state([[(x, y)]], angular_velocity=torch.tensor([[0.0, 0.0, rate]]))
    assert plate_velocity(still)[0, 0].tolist() == pytest.approx([rate * y, -rate * x, 0.0])
    carried = torch.zeros(1, 5, 3)
    carried[0, 0] = torch.tensor([-rate * y, rate * x, 0.0])
    turning = make_state(
        [[(x, y)]], angular_velocity=torch.tensor([[0.0, 0.0, rate]]), ball_velocity=carried
    )
    assert plate_velocity(turning)[0, 0].abs().max() < 1e-7
