"""The two baselines without any invariance: a flat MLP and one MLP per slot."""

from torch import Tensor, nn

from s2m.config.encoder import EncoderCfg
from s2m.encoders.base import SetEncoder, Shape, history_tokens, mlp
from s2m.encoders.elu import ELU


class FlatMLP(SetEncoder):
    """One MLP on the flattened history."""

    group = "G_0"

    def __init__(self, shape: Shape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Build H N d - width - readout - e."""
        super().__init__(shape, width, readout, cfg)
        inputs = shape.frames * shape.slots * shape.features
        self.net = mlp(inputs, width, readout, cfg.embedding)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Flatten frames, slots and features."""
        return self.net(x.flatten(1))


class BranchMLP(SetEncoder):
    """A shared MLP on every slot's history; the results are concatenated in slot order."""

    group = "G_0"

    def __init__(self, shape: Shape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Build the branch H d - width - width and the readout N width - readout - e."""
        super().__init__(shape, width, readout, cfg)
        inputs = shape.frames * shape.features
        self.branch = nn.Sequential(*mlp(inputs, width, width), ELU())
        self.readout = mlp(shape.slots * width, readout, cfg.embedding)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode each slot, zero the empty ones and concatenate."""
        tokens, active = history_tokens(x, mask)
        branches = self.branch(tokens) * active.unsqueeze(-1)
        return self.readout(branches.flatten(1))
