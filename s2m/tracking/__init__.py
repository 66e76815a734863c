"""The mirror on Weights & Biases.

A run folder is the truth; what W&B has follows from it and can be sent again at any time. Training
never talks to W&B: a process of its own follows the folder (`follow`), started and ended by the one
that trains (`mirror`). `python -m s2m.sync` does the same later, for whatever was not sent.
"""
