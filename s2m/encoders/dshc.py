"""DSHC: Deep Sets over history-concatenated tokens."""

from torch import Tensor

from s2m.encoders.base import BallShape, history_tokens
from s2m.encoders.deep_sets import DeepSets
from s2m.encoders.pooling import embed_and_pool


class DeepSetsHistoryConcat(DeepSets):
    """rho(Pool phi(y_i)) with y_i the concatenated history of slot i."""

    name = "dshc"
    group = "G_diag"
    label = "DSHC"
    tex = r"\textsc{DSHC}"
    colour = "#D55E00"
    kept = 32_000

    def layout(self, shape: BallShape) -> tuple[int, int]:
        """One set of N tokens."""
        return 1, shape.frames * shape.features

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool over history tokens, then read out."""
        tokens, active = history_tokens(x, mask)
        return self.rho(embed_and_pool(self.phi, tokens, active, self.pool, self.dense))
