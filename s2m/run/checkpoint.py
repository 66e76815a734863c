"""Checkpoints: the full state of a run, checked by a sum, loaded without running code.

A file is what `torch.save` writes plus a last line with the SHA-256 of it. The sum stands in the
file and not beside it because one rename then brings both, and a copied file keeps it; torch finds
the start of its archive by itself and opens the file as it is.
"""

import io
import logging
import pickle
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.files import remove_temporary, sha256
from s2m.run.folder import CHECKPOINT, RunFolder, saved
from s2m.run.seal import MARK, TRAILER, seal, trailer

KEEP = 3
"""Untagged checkpoints that stay."""

ASIDE = ".damaged"
"""What is added to the name of a checkpoint that a run has gone back behind."""

_PLAIN = (bool, int, float, str, bytes, type(None))

log = logging.getLogger(__name__)

State = dict[str, Any]


class CheckpointError(UserError):
    """A checkpoint that is damaged, incomplete or not ours."""


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint, its tensors on the CPU."""

    iteration: int
    state: State
    path: Path


def save(
    folder: RunFolder, iteration: int, state: State, tag: str | None = None, keep: int = KEEP
) -> Path:
    """Store the state after an iteration and return its path.

    The state is nested dicts, lists and tuples of tensors, numbers and text. Of the checkpoints up
    to this iteration the last `keep` stay, and all with a tag (`level3`, `final`); later ones do
    not count, lest damaged files should drive out sound ones.
    """
    name = f"{iteration:09d}{f'-{tag}' if tag else ''}.pt"
    if not CHECKPOINT.fullmatch(name) or keep < 1:
        raise ValueError(f"cannot save iteration {iteration} with tag {tag!r} and keep {keep}")
    _check(state, "state")
    buffer = io.BytesIO()
    torch.save({"iteration": iteration, "state": state}, buffer)
    folder.checkpoints.mkdir(exist_ok=True)
    remove_temporary(folder.checkpoints)
    path = folder.checkpoints / name
    seal(path, buffer.getbuffer())
    untagged = [p for p in saved(folder) if "-" not in p.name and p.name <= name]
    for old in untagged[:-keep]:
        old.unlink(missing_ok=True)
    return path


def _check(value: Any, name: str) -> None:
    # Exact types: numpy.float64 is a float, but is stored as a pickle that loading refuses.
    if type(value) in (dict, OrderedDict):
        for key, item in value.items():
            if type(key) not in (str, int):
                raise TypeError(f"{name} has the key {key!r}: allowed are text and whole numbers")
            _check(item, f"{name}[{key!r}]")
    elif type(value) in (list, tuple):
        for i, item in enumerate(value):
            _check(item, f"{name}[{i}]")
    elif type(value) not in (*_PLAIN, Tensor, torch.nn.Parameter):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(
            f"{name} is a {kind}: a checkpoint holds dicts, lists, tensors, numbers and text "
            "(torch.from_numpy turns an array into a tensor)"
        )


def load(path: Path) -> Checkpoint:
    """Load a checkpoint; a CheckpointError says in one line why it cannot be used.

    One that is there and cannot be read, as from a disk that is away, is only a UserError: it may
    be sound.
    """
    try:
        data = memoryview(path.read_bytes())
    except FileNotFoundError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; try again when that has passed, or move it "
            "away to resume from the checkpoint before it"
        ) from None
    content, last = data[:-TRAILER], bytes(data[-TRAILER:])
    if not last.startswith(MARK):
        raise CheckpointError(f"{path} has no checksum: it was cut off, or s2m did not write it")
    if last != trailer(sha256(content)):
        raise CheckpointError(f"{path} is damaged: its content does not match its checksum")
    try:
        stored = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        return Checkpoint(stored["iteration"], stored["state"], path)
    except pickle.UnpicklingError:
        raise CheckpointError(
            f"{path} is refused: it holds more than tensors, numbers and text, "
            "and loading that could run foreign code"
        ) from None
    except Exception as error:
        reason = f"{type(error).__name__} {error}".splitlines()[0]
        raise CheckpointError(f"{path} is not a checkpoint of s2m: {reason}") from None


def load_latest(folder: RunFolder, events: Events | None = None) -> Checkpoint | None:
    """Load the newest sound checkpoint; None if there is none.

    Each one that had to be passed over is said in a warning and, by a writer who gives its events,
    recorded among them and set aside: what was done after the one before it is about to be void,
    and a file that turned out readable later would be ahead of its metrics.
    """
    for path in reversed(saved(folder)):
        try:
            return load(path)
        except CheckpointError as error:
            log.warning("%s; falling back to the checkpoint before it", error)
            if events is not None:
                events.append("checkpoint_fallback", file=path.name, reason=str(error))
                with suppress(FileNotFoundError):
                    path.replace(path.with_name(f"{path.name}{ASIDE}"))
    return None
