import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("before", "after"), [("", "'wandb' not in sys.modules"), ("import wandb", "wandb.init")]
)
def test_rsl_rl_comes_without_wandb_and_hides_it_from_nobody(before, after):
    code = f"import sys; {before}\nfrom s2m.env.rsl import PPO\nassert {after}; import wandb.sdk"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
