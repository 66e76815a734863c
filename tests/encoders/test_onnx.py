"""A recorded graph holds for other data: no path taken for the example's mask is baked in."""

from collections.abc import Callable
from typing import cast

import pytest
import torch
from torch import Tensor

from s2m.config.encoder import EncoderCfg, cards
from s2m.encoders.base import SetEncoder
from s2m.encoders.registry import make_encoder


def trace(encoder: SetEncoder, example: tuple[Tensor, Tensor]) -> Callable[..., Tensor]:
    return cast(Callable[..., Tensor], torch.jit.trace(encoder, example))


def export(encoder: SetEncoder, example: tuple[Tensor, Tensor]) -> Callable[..., Tensor]:
    any_batch = {0: torch.export.Dim.AUTO}
    return torch.export.export(encoder, example, dynamic_shapes=(any_batch, any_batch)).module()


RECORDERS = {"trace": trace, "export": export}


def history(batch: int, share: float) -> tuple[Tensor, Tensor]:
    return torch.randn(batch, 4, 5, 14), torch.rand(batch, 4, 5) < share


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("how", RECORDERS)
@pytest.mark.parametrize("name", cards())
def test_recorded_graph_fits_other_masks(name, how):
    torch.manual_seed(0)
    encoder = make_encoder(EncoderCfg(name, width=16, embedding=16), 4, 5, 14)
    example = history(3, 0.2)
    recorded = RECORDERS[how](encoder, example)
    for batch, share in ((7, 0.0), (5, 0.5), (1, 1.0)):
        x, mask = history(batch, share)
        torch.testing.assert_close(recorded(x, mask), encoder(x, mask), rtol=1e-5, atol=1e-6)
