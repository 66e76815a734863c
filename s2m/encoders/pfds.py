"""PFDS: Deep Sets within each frame, then a readout over time (paper, section 4.1)."""

from torch import Tensor

from s2m.encoders.base import BallShape
from s2m.encoders.deep_sets import DeepSets
from s2m.encoders.pooling import embed_and_pool


class PerFrameDeepSets(DeepSets):
    """rho([h_1; ...; h_H]) with h_t = Pool phi(x_ti) over the active balls of frame t."""

    name = "pfds"
    group = "G_frame"
    label = "PFDS"
    tex = r"\textsc{PFDS}"
    colour = "#0072B2"
    kept = 58_000

    def layout(self, shape: BallShape) -> tuple[int, int]:
        """H sets, one per frame."""
        return shape.frames, shape.features

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode x (B, H, N, d) as it is: the pooling passes masked slots by."""
        return self.encode(x, mask)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool within each frame, then read out over time."""
        frames = embed_and_pool(self.phi, x, mask, self.pool, self.dense)
        return self.rho(frames.flatten(1))
