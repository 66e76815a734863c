"""Sizes that no setting changes; they are fixed in rooms that need torch, which stay unimported.

tests/analysis/test_fixed.py compares each with its place.
"""

BALL_FRAMES, BALL_SLOTS, BALL_SIZE = 4, 5, 14
"""H, N and d of the ball history (s2m/task/observations.py, s2m/robot/model.py)."""
PROPRIO_FRAMES, PROPRIO_SIZE = 6, 43
"""The window of proprioception (s2m/task/observations.py)."""
COMMAND_SIZE = 5
"""The command as the policy is told (s2m/task/commands.py)."""
ACTIONS = 12
"""Joint offsets (s2m/env/transport.py)."""
CELLS = 16
"""Places of the tactile map along each side (s2m/task/tactile.py)."""
