"""Set Transformer: ISAB and PMA over history-concatenated tokens."""

from torch import Tensor, nn

from s2m.config.encoder import EncoderCfg
from s2m.encoders.base import BallShape, SetEncoder, history_tokens, mlp
from s2m.encoders.blocks import ISAB, PMA
from s2m.encoders.tracing import is_traced


class SetTransformer(SetEncoder):
    """A linear token embedding, ISAB, PMA and a readout, on history tokens y_i."""

    name = "set_transformer"
    group = "G_diag"
    label = "Set Transformer"
    colour = "#E69F00"
    kept = 82_000

    def __init__(self, shape: BallShape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Build the attention blocks for one kind of set and the readout over all pooled sets."""
        super().__init__(shape, width, readout, cfg)
        sets, features = self.layout(shape)
        self.embed = nn.Linear(features, width)
        self.attend = ISAB(width, cfg.heads, cfg.inducing)
        self.pool = PMA(width, cfg.heads)
        self.readout = mlp(sets * width, readout, cfg.embedding)

    @classmethod
    def width_step(cls, cfg: EncoderCfg) -> int:
        """Heads share the width evenly."""
        return cfg.heads

    def layout(self, shape: BallShape) -> tuple[int, int]:
        """Return the number of pooled sets and the features of one token."""
        return 1, shape.frames * shape.features

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool the history tokens, then read out."""
        return self.readout(self.summarise(*history_tokens(x, mask)))

    def summarise(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Turn sets of tokens (S, n, features) into vectors (S, w)."""
        if not (self.dense or is_traced()):
            tokens, mask = _compact(tokens, mask)
        return self.pool(self.attend(self.embed(tokens), mask), mask)


def _compact(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Move active tokens to the front and drop the slots that no set of the batch needs."""
    if mask.device.type != "cpu":  # elsewhere the count would stall the stream
        return tokens, mask
    needed = max(1, int(mask.sum(-1).max()))
    if needed == mask.shape[-1]:
        return tokens, mask
    slots = mask.int().topk(needed, -1).indices
    features = slots.unsqueeze(-1).expand(-1, -1, tokens.shape[-1])
    return tokens.gather(1, features), mask.gather(1, slots)
