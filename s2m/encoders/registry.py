"""Encoders by name, each sized to the parameter count of PFDS at the same setting.

A file of this folder whose class bears the file's name is an encoder; nothing else lists it. Code
from elsewhere is loaded by `load_own`, and known by the checksum of its file.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import torch

from s2m.config.encoder import EncoderCfg, cards
from s2m.console.errors import UserError, unknown
from s2m.encoders.base import BallShape, Group, SetEncoder
from s2m.encoders.sizing import fit

_own: dict[str, type[SetEncoder]] = {}
"""Encoders from outside of s2m, by the SHA-256 of their file."""


class Size(NamedTuple):
    """One row of the parameter table."""

    name: str
    group: Group
    parameters: int


def encoder_class(name: str, source: str = "") -> type[SetEncoder]:
    """Return the class of an encoder: s2m's of that name, or the one of a file by its checksum."""
    if source:
        if source not in _own:
            raise UserError(
                f"the encoder {name} is not s2m's own: its code lies in own/encoder/{name}.py of "
                "the run folder; read it, then give --config-dir RUN_FOLDER/own"
            )
        return _own[source]
    if name not in cards():
        raise unknown("encoder", name, cards())
    return _class_in(import_module(f"s2m.encoders.{name}"), name)


def load_own(folders: Iterable[Path], only: str | None = None) -> None:
    """Execute the encoders of folders laid out as a --config-dir: of those that one trusts.

    With `only` it executes no file but the one of that checksum.
    """
    for path in (path for root in folders for path in sorted((root / "encoder").glob("*.py"))):
        text = path.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        if digest in _own or only is not None and digest != only:
            continue
        module = ModuleType(f"s2m_own_{path.stem}")
        module.__file__ = str(path)
        exec(compile(text, str(path), "exec"), module.__dict__)
        _own[digest] = _class_in(module, path.stem)


def _class_in(module: ModuleType, name: str) -> type[SetEncoder]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, SetEncoder):
            if value.__dict__.get("name") == name:
                return value
    raise UserError(f"{module.__file__} has no class of the encoder {name}: see docs/encoders.md")


def make_encoder(cfg: EncoderCfg, frames: int, slots: int, features: int) -> SetEncoder:
    """Build an encoder for x (B, frames, slots, features)."""
    shape = BallShape(frames, slots, features)
    return encoder_class(cfg.name, cfg.source)(shape, *_sizes(cfg, shape), cfg)


def parameter_table(cfg: EncoderCfg, frames: int, slots: int, features: int) -> Iterator[Size]:
    """Yield the parameter count of every encoder of s2m at one setting."""
    for name in cards():
        own, shape = replace(cfg, name=name), BallShape(frames, slots, features)
        count = _count(own, shape, *_sizes(own, shape))
        yield Size(name, encoder_class(name).group, count)


def _sizes(cfg: EncoderCfg, shape: BallShape) -> tuple[int, int]:
    """Return (width, readout): PFDS sets the budget, the others are fitted to it."""
    given = cfg.width, 2 * cfg.width
    if cfg.name == "pfds":
        return given
    budget = _count(replace(cfg, name="pfds", source=""), shape, *given)
    return fit(
        lambda width, readout: _count(cfg, shape, width, readout),
        budget,
        encoder_class(cfg.name, cfg.source).width_step(cfg),
    )


def _count(cfg: EncoderCfg, shape: BallShape, width: int, readout: int) -> int:
    # On the meta device nothing is allocated and no random number is drawn.
    with torch.device("meta"):
        encoder = encoder_class(cfg.name, cfg.source)(shape, width, readout, cfg)
    return sum(parameter.numel() for parameter in encoder.parameters())
