"""What both Deep Sets encoders share: an elementwise phi, a pool and a readout rho."""

from torch import nn

from s2m.config.encoder import POOLS, EncoderCfg
from s2m.console.errors import unknown
from s2m.encoders.base import BallShape, SetEncoder, mlp
from s2m.encoders.elu import ELU


class DeepSets(SetEncoder):
    """An elementwise phi, a pool and a readout rho."""

    def __init__(self, shape: BallShape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Build phi and rho over `sets` pooled sets of elements with `features` numbers."""
        super().__init__(shape, width, readout, cfg)
        if cfg.pool not in POOLS:
            raise unknown("pool", cfg.pool, POOLS)
        self.pool = cfg.pool
        sets, features = self.layout(shape)
        # An ELU also follows phi's last layer: the pooled sum meets a linear layer of rho, and
        # two linear layers in a row would be one.
        self.phi = nn.Sequential(*mlp(features, width, width), ELU())
        self.rho = mlp(sets * width, readout, cfg.embedding)

    def layout(self, shape: BallShape) -> tuple[int, int]:
        """Return the number of pooled sets and the features of one element."""
        raise NotImplementedError
