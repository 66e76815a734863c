"""Flat-MLP: the baseline that sees the history as one vector."""

from torch import Tensor

from s2m.config.encoder import EncoderCfg
from s2m.encoders.base import BallShape, SetEncoder, mlp


class FlatMLP(SetEncoder):
    """One MLP on the flattened history."""

    name = "flat_mlp"
    group = "G_0"
    label = "Flat-MLP"
    tex = r"\textsc{Flat-MLP}"
    colour = "#999999"
    kept = 16_000

    def __init__(self, shape: BallShape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Build H N d - width - readout - e."""
        super().__init__(shape, width, readout, cfg)
        inputs = shape.frames * shape.slots * shape.features
        self.net = mlp(inputs, width, readout, cfg.embedding)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Flatten frames, slots and features."""
        return self.net(x.flatten(1))
