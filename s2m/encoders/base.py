"""What all set encoders share: their signature, their declared group and the mask at the entry."""

from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from s2m.config.encoder import EncoderCfg
from s2m.encoders.elu import ELU

Group = Literal["G_0", "G_diag", "G_frame"]


class BallShape(NamedTuple):
    """H frames of N slots with d features."""

    frames: int
    slots: int
    features: int


class SetEncoder(nn.Module):
    """Encode a history of sets x (B, H, N, d) with mask (B, H, N) bool as (B, e).

    A subclass builds its layers from `width` and `readout`, the two sizes which `sizing` may
    choose, and overrides `encode`.
    """

    name: ClassVar[str]
    """That of its file; `encoder.name` in configs."""
    group: ClassVar[Group]
    """The largest group of slot permutations that cannot change the output."""
    label: ClassVar[str]
    """What it is called in tables and legends; all of these are read without executing the file."""
    tex: ClassVar[str] = ""
    """The label in LaTeX, where it is set otherwise."""
    colour: ClassVar[str] = ""
    """#RRGGBB in figures; empty: a free one of the palette."""
    kept: ClassVar[int] = 0
    """Bytes that actor and critic keep of a sample for its gradients at size=paper; 0: unknown.

    Of a GPU's memory it is the largest part (`s2m/cluster/memory.py`).
    """
    dense: bool = False
    """Compute every slot, also inactive ones: a graph without data-dependent shapes."""

    def __init__(self, shape: BallShape, width: int, readout: int, cfg: EncoderCfg) -> None:
        """Keep the output size; layers belong to the subclass."""
        super().__init__()
        self.embedding = cfg.embedding

    @classmethod
    def width_step(cls, cfg: EncoderCfg) -> int:
        """Return the number of which `width` must be a multiple."""
        return 1

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode x (B, H, N, d); what stands in masked slots has no effect."""
        return self.encode(torch.where(mask.unsqueeze(-1), x, 0.0), mask)

    def encode(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode x (B, H, N, d) whose masked slots are zero."""
        raise NotImplementedError


def mlp(*sizes: int) -> nn.Sequential:
    """Return linear layers with ELU between them."""
    layers: list[nn.Module] = []
    for size, following in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(size, following), ELU()]
    return nn.Sequential(*layers[:-1])


def history_tokens(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate each slot's frames, y_i = [x_1i; ...; x_Hi]: (B, N, H d) and its mask (B, N).

    A token is active if any of its frames is.
    """
    return x.transpose(1, 2).flatten(2), mask.any(1)
