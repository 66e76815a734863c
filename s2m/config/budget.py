"""How much a run may spend."""

from dataclasses import dataclass

from s2m.config.fields import setting


@dataclass
class BudgetCfg:
    """How much a run may spend; a budget file also sets the sizes that go with it."""

    name: str = setting("desktop", "name of the budget, kept with the run", decides=False)
    version: int = setting(
        1, "raised whenever a budget file changes what a run computes", low=1, decides=False
    )
    iterations: int = setting(600, "PPO iterations, exactly", low=1)
    num_envs: int = setting(256, "parallel environments", low=1)
    steps: int = setting(24, "control steps per environment and iteration", low=1)
    hidden: list[int] = setting([128, 64], "hidden layers of actor and critic", low=1)
    checkpoint_every: int = setting(25, "iterations between two checkpoints", low=1, decides=False)
    audit_samples: int = setting(4, "group elements per symmetry audit", low=1)
