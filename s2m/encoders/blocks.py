"""The masked blocks of the Set Transformer (Lee et al. 2019): MAB, ISAB and PMA.

Without layer norm, which the authors leave optional; the row-wise feed-forward rFF is one layer
with ELU. Sets are (S, n, w) with mask (S, n) bool.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from s2m.encoders.attention import attend


class MAB(nn.Module):
    """Let queries attend to keys: h = q + Multihead(q, k, k), then h + rFF(h)."""

    def __init__(self, width: int, heads: int) -> None:
        """Build the four projections and the feed-forward."""
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out, self.feed_forward = (
            nn.Linear(width, width) for _ in range(5)
        )

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from (S, q, w) to (S, n, w); each set of keys needs one that is not masked."""
        attended = attend(self.query(queries), self.key(keys), self.value(keys), mask, self.heads)
        hidden = queries + self.out(attended)
        return hidden + F.elu(self.feed_forward(hidden))


class ISAB(nn.Module):
    """Induced self-attention: the set attends to m learned points which attended to the set."""

    def __init__(self, width: int, heads: int, inducing: int) -> None:
        """Build both attention blocks and the inducing points."""
        super().__init__()
        self.points = _learned(inducing, width)
        self.gather, self.spread = MAB(width, heads), MAB(width, heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the set (S, n, w), zero where masked."""
        points = self.points.expand(x.shape[0], -1, -1)
        induced = self.gather(points, x, _attendable(mask))
        return self.spread(x, induced) * mask.unsqueeze(-1)


class PMA(nn.Module):
    """Pooling by attention: one learned seed attends to rFF of the set."""

    def __init__(self, width: int, heads: int) -> None:
        """Build the seed, the feed-forward on the set and the attention."""
        super().__init__()
        self.seed = _learned(1, width)
        self.feed_forward = nn.Linear(width, width)
        self.pool = MAB(width, heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return one vector (S, w) per set, zero for an empty one."""
        seed = self.seed.expand(x.shape[0], -1, -1)
        pooled = self.pool(seed, F.elu(self.feed_forward(x)), _attendable(mask))
        return pooled.squeeze(1) * mask.any(-1, keepdim=True)


def _learned(count: int, width: int) -> nn.Parameter:
    points = nn.Parameter(torch.empty(1, count, width))
    nn.init.xavier_uniform_(points)
    return points


def _attendable(mask: Tensor) -> Tensor:
    """Unmask empty sets, whose softmax would be 0 / 0; their result is zeroed afterwards."""
    return mask | ~mask.any(-1, keepdim=True)
