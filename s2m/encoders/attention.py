"""Multi-head attention over many tiny sets, with masked keys."""

import torch
import torch.nn.functional as F
from torch import Tensor

from s2m.encoders.tracing import is_traced

NARROW = 32
"""Width up to which `_batch_last` beats the fused kernel on a CPU.

The fused kernel pays per set and head, whatever their size: for 6144 sets of 2 to 5 balls and width
20, forward and backward take 1.7 to 4 times as long. At width 76 it is the faster one.
"""

MOST_SETS = 65_535
"""Sets that the fused kernel is given at once: CUDA's of torch before 2.8 fails on more, and the
paper's budget has 98,304 frames in a mini-batch."""


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    """Attend from (S, q, w) to (S, n, w) with mask (S, n): (S, q, w), heads concatenated."""
    narrow = not is_traced() and query.device.type == "cpu" and query.shape[-1] <= NARROW
    return (_batch_last if narrow else _fused)(query, key, value, mask, heads)


def _fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    if not is_traced() and len(query) > MOST_SETS:
        queries, keys, values = (x.split(MOST_SETS) for x in (query, key, value))
        masks = [None] * len(queries) if mask is None else mask.split(MOST_SETS)
        parts = zip(queries, keys, values, masks, strict=True)
        return torch.cat([_fused(q, k, v, m, heads) for q, k, v, m in parts])
    query, key, value = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    mask = None if mask is None else mask[:, None, None, :]
    attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return attended.transpose(1, 2).flatten(2)


def _batch_last(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: int
) -> Tensor:
    # (items, heads, w / heads, S): every sum is then a few vector operations along S.
    query, key, value = (
        x.permute(1, 2, 0).unflatten(1, (heads, -1)).contiguous() for x in (query, key, value)
    )
    scores = (query.unsqueeze(1) * key).sum(3) * query.shape[2] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.T.unsqueeze(1), -torch.inf)
    weights = scores.softmax(1).unsqueeze(3)
    return (weights * value).sum(1).flatten(1, 2).permute(2, 0, 1)
