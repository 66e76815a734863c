"""Set Transformer, per frame: the same network on the balls of each frame."""

from torch import Tensor

from s2m.encoders.base import BallShape
from s2m.encoders.set_transformer import SetTransformer


class PerFrameSetTransformer(SetTransformer):
    """The same blocks on the balls of each frame; the readout sees all frames."""

    name = "set_transformer_pf"
    group = "G_frame"
    label = "Set Transformer (PF)"
    colour = "#009E73"
    kept = 250_000

    def layout(self, shape: BallShape) -> tuple[int, int]:
        """H sets, one per frame."""
        return shape.frames, shape.features

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pool the balls within each frame, then read out over time."""
        frames = self.summarise(x.flatten(0, 1), mask.flatten(0, 1))
        return self.readout(frames.unflatten(0, mask.shape[:2]).flatten(1))
