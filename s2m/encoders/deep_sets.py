"""Deep Sets over history-concatenated tokens (DSHC) and per frame (PFDS, paper section 4.1)."""

from torch import Tensor, nn

from s2m.config.encoder import POOLS, EncoderCfg
from s2m.console.errors import unknown
from s2m.encoders.base import SetEncoder, Shape, history_tokens, mlp
from s2m.encoders.elu import ELU
from s2m.encoders.pooling import embed_and_pool


class _DeepSets(SetEncoder):
    """An elementwise phi, a pool and a readout rho."""

    def __init__(self, shape: Shape, width: int, readout: int, cfg: EncoderCfg) -> None:
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

    def layout(self, shape: Shape) -> tuple[int, int]:
        """Return the number of pooled sets and the features of one element."""
        raise NotImplementedError


class DeepSetsHistoryConcat(_DeepSets):
    """rho(Pool phi(y_i)) with y_i the concatenated history of slot i."""

    group = "G_diag"

    def layout(self, shape: Shape) -> tuple[int, int]:
        """One set of N tokens."""
        return 1, shape.frames * shape.features

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool over history tokens, then read out."""
        tokens, active = history_tokens(x, mask)
        return self.rho(embed_and_pool(self.phi, tokens, active, self.pool, self.dense))


class PerFrameDeepSets(_DeepSets):
    """rho([h_1; ...; h_H]) with h_t = Pool phi(x_ti) over the active balls of frame t."""

    group = "G_frame"

    def layout(self, shape: Shape) -> tuple[int, int]:
        """H sets, one per frame."""
        return shape.frames, shape.features

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode x (B, H, N, d) as it is: the pooling passes masked slots by."""
        return self.encode(x, mask)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool within each frame, then read out over time."""
        frames = embed_and_pool(self.phi, x, mask, self.pool, self.dense)
        return self.rho(frames.flatten(1))
