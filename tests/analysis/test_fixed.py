"""Sizes that the analysis repeats, because their places need torch."""

from analysis import fixed
from s2m.env.transport import NUM_ACTIONS
from s2m.robot.model import MAX_BALLS
from s2m.task import observations
from s2m.task.commands import COMMAND_SIZE
from s2m.task.tactile import CELLS


def test_sizes_are_those_of_the_code():
    for name in ("BALL_FRAMES", "BALL_SIZE", "PROPRIO_FRAMES", "PROPRIO_SIZE"):
        assert getattr(fixed, name) == getattr(observations, name)
    others = fixed.BALL_SLOTS, fixed.COMMAND_SIZE, fixed.ACTIONS, fixed.CELLS
    assert others == (MAX_BALLS, COMMAND_SIZE, NUM_ACTIONS, CELLS)
