"""How a run learns."""

from dataclasses import dataclass

from s2m.config.fields import setting


@dataclass
class PpoCfg:
    """PPO of rsl-rl; the defaults are the paper's (appendix B) or, where it is silent, rsl-rl's."""

    learning_rate: float = setting(3e-4, "learning rate at the start", above=0)
    kl_target: float = setting(6e-3, "KL that steers the learning rate; 0 keeps it fixed", low=0)
    kl_end: float = setting(
        1.0, "KL target at the end of the budget / at its start; linear in between", above=0, high=1
    )
    epochs: int = setting(5, "passes over the samples of an iteration", low=1)
    mini_batches: int = setting(4, "mini-batches per pass", low=1)
    gamma: float = setting(0.99, "discount", low=0, high=1)
    lam: float = setting(0.95, "lambda of the advantage estimate", low=0, high=1)
    clip: float = setting(0.2, "clip range of ratio and value", above=0)
    entropy: float = setting(0.01, "weight of the entropy bonus", low=0)
    value: float = setting(1.0, "weight of the value loss", low=0)
    max_grad_norm: float = setting(1.0, "largest gradient norm, actor and critic each", above=0)
    init_std: float = setting(1.0, "standard deviation of actions at the start", above=0)
    reward_scale: float = setting(1.0, "factor on rewards before PPO sees them", above=0)
