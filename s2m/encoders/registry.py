"""Encoders by name, each sized to the parameter count of PFDS at the same setting."""

from dataclasses import replace
from typing import NamedTuple

import torch

from s2m.config.encoder import EncoderCfg
from s2m.console.errors import unknown
from s2m.encoders.base import Group, SetEncoder, Shape
from s2m.encoders.deep_sets import DeepSetsHistoryConcat, PerFrameDeepSets
from s2m.encoders.mlp import BranchMLP, FlatMLP
from s2m.encoders.set_transformer import PerFrameSetTransformer, SetTransformer
from s2m.encoders.sizing import fit

ENCODERS: dict[str, type[SetEncoder]] = {
    "flat_mlp": FlatMLP,
    "branch_mlp": BranchMLP,
    "dshc": DeepSetsHistoryConcat,
    "set_transformer": SetTransformer,
    "pfds": PerFrameDeepSets,
    "set_transformer_pf": PerFrameSetTransformer,
}


class Size(NamedTuple):
    """One row of the parameter table."""

    name: str
    group: Group
    parameters: int


def make_encoder(cfg: EncoderCfg, frames: int, slots: int, features: int) -> SetEncoder:
    """Build an encoder for x (B, frames, slots, features)."""
    if cfg.name not in ENCODERS:
        raise unknown("encoder", cfg.name, ENCODERS)
    shape = Shape(frames, slots, features)
    return ENCODERS[cfg.name](shape, *_sizes(cfg, shape), cfg)


def parameter_table(cfg: EncoderCfg, frames: int, slots: int, features: int) -> list[Size]:
    """Return the parameter count of every encoder at one setting."""
    table = []
    for name, encoder in ENCODERS.items():
        own, shape = replace(cfg, name=name), Shape(frames, slots, features)
        table.append(Size(name, encoder.group, _count(own, shape, *_sizes(own, shape))))
    return table


def _sizes(cfg: EncoderCfg, shape: Shape) -> tuple[int, int]:
    """Return (width, readout): PFDS sets the budget, the others are fitted to it."""
    given = cfg.width, 2 * cfg.width
    if cfg.name == "pfds":
        return given
    budget = _count(replace(cfg, name="pfds"), shape, *given)
    return fit(
        lambda width, readout: _count(cfg, shape, width, readout),
        budget,
        ENCODERS[cfg.name].width_step(cfg),
    )


def _count(cfg: EncoderCfg, shape: Shape, width: int, readout: int) -> int:
    # On the meta device nothing is allocated and no random number is drawn.
    with torch.device("meta"):
        encoder = ENCODERS[cfg.name](shape, width, readout, cfg)
    return sum(parameter.numel() for parameter in encoder.parameters())
