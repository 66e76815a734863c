"""Executing many runs: which cells a command means, what is left to do, and who does it."""
