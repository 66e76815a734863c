"""Settings of a set encoder; free of torch, so that commands which only read configs start fast."""

from dataclasses import dataclass

from s2m.config.fields import setting

NAMES = ("flat_mlp", "branch_mlp", "dshc", "set_transformer", "pfds", "set_transformer_pf")
POOLS = ("sum", "mean", "max")


@dataclass
class EncoderCfg:
    """A set encoder; `width` sizes PFDS, every other encoder gets as many parameters."""

    name: str = setting("pfds", "which encoder", choices=NAMES)
    width: int = setting(32, "hidden width of PFDS, which sets the parameter budget", low=4)
    embedding: int = setting(32, "size of the output", low=1)
    pool: str = setting("sum", "pooling of Deep Sets over active balls", choices=POOLS)
    heads: int = setting(4, "attention heads of Set Transformers", low=1)
    inducing: int = setting(4, "inducing points of Set Transformers", low=1)
