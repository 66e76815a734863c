"""What is used of rsl-rl, imported without W&B.

rsl_rl.utils imports wandb for a writer of logs that nobody here uses: W&B is fed from another
process (s2m.tracking). Without it a training starts half a second earlier. rsl-rl provides for a
wandb that is missing, and so it is told.
"""

import sys

_hidden = "wandb" not in sys.modules
if _hidden:
    sys.modules["wandb"] = None  # pyright: ignore[reportArgumentType]
try:
    from rsl_rl.algorithms import PPO
    from rsl_rl.env import VecEnv
    from rsl_rl.models import MLPModel
    from rsl_rl.modules import EmpiricalNormalization
    from rsl_rl.storage import RolloutStorage
finally:
    if _hidden:
        del sys.modules["wandb"]

__all__ = ["PPO", "EmpiricalNormalization", "MLPModel", "RolloutStorage", "VecEnv"]
