"""Branch-MLP: the baseline with one network for all slots, which still knows their order."""

from torch import Tensor, nn

from s2m.config.encoder import EncoderCfg
from s2m.encoders.base import BallShape, SetEncoder, history_tokens, mlp
from s2m.encoders.elu import ELU


class BranchMLP(SetEncoder):
    """A shared MLP on every slot's history; the results are concatenated in slot order."""

    name = "branch_mlp"
    group = "G_0"
    label = "Branch-MLP"
    tex = r"\textsc{Branch-MLP}"
    colour = "#000000"
    kept = 27_000

    def __init__(self, shape: BallShape, width: int, readout: int, cfg: EncoderCfg) -> None:
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
