"""The aggregated steps on disk, memory-mapped, and batches of whole trajectories from them.

A step takes 153 bytes. The tactile map is 256 bits; the stack of four maps and the window of six
proprioception frames are rebuilt from the steps before. Proprioception and command are stored
scaled, as the student sees them: numbers of order 1, of which float16 keeps three digits, a
hundredth of what the student leaves of the teacher's actions unexplained. The same holds for the
labels.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from s2m.console.errors import UserError
from s2m.env.transport import NUM_ACTIONS
from s2m.run.seal import is_sound, seal
from s2m.task.commands import COMMAND_SIZE
from s2m.task.observations import BALL_FRAMES, PROPRIO_FRAMES, PROPRIO_SIZE
from s2m.task.tactile import CELLS

STEP = np.dtype(
    [
        ("proprio", "<f2", (PROPRIO_SIZE,)),
        ("command", "<f2", (COMMAND_SIZE,)),
        ("label", "<f2", (NUM_ACTIONS,)),
        ("map", "u1", (CELLS * CELLS // 8,)),
        ("first", "?"),
    ]
)
"""One control step: the newest frames, the teacher's action, whether its episode began here."""
ROUND_UP = 512
"""Tactile stacks come in multiples of this many: convolution kernels are compiled, and kept, for
every number of them, which would take gigabytes."""
JITTER = 0.1
"""Lengths are sorted up to this part, so that batches differ from epoch to epoch."""


@dataclass(frozen=True)
class Batch:
    """Whole trajectories, their S steps one after the other."""

    vector: Tensor
    """(S, 263), scaled."""
    tactile: Tensor
    """(S or a few more, H, 16, 16), 0 or 1; those beyond S are empty."""
    label: Tensor
    """(S, 12)."""
    place: Tensor
    """(S,) place of each step in the flattened grid of `shape`."""
    shape: tuple[int, int]
    """Longest trajectory, trajectories."""


def write_steps(path: Path, steps: np.ndarray) -> None:
    """Store the steps (environments, time) of one collection as a whole, or not at all."""
    buffer = io.BytesIO()
    np.save(buffer, steps)
    seal(path, buffer.getbuffer())


class DataSet:
    """All steps of some collections, by trajectory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Map the files; only the flags of episode starts are read."""
        self.parts = [_open(path) for path in paths]
        found = [_trajectories(i, part) for i, part in enumerate(self.parts)]
        self.trajectories = np.concatenate(found)
        """(trajectories, 4): file, environment, first step, length."""
        self.steps = int(self.trajectories[:, 3].sum())

    def batches(self, size: int, chance: np.random.Generator) -> list[np.ndarray]:
        """Divide all trajectories into batches of at most `size` steps, padding included.

        Trajectories of similar length share a batch: little of it is padding.
        """
        length = self.trajectories[:, 3]
        order = np.argsort(length * chance.uniform(1 - JITTER, 1 + JITTER, len(length)))[::-1]
        batches: list[list[int]] = [[]]
        longest = 0
        for index in order:
            longest = max(longest, int(length[index]))
            if batches[-1] and longest * (len(batches[-1]) + 1) > size:
                batches.append([])
                longest = int(length[index])
            batches[-1].append(int(index))
        return [np.array(batches[i]) for i in chance.permutation(len(batches))]

    def assemble(self, chosen: np.ndarray) -> Batch:
        """Read trajectories from disk and rebuild what the student saw at each step."""
        picked = self.trajectories[chosen]
        steps = np.concatenate(
            [self.parts[i][row, start : start + n] for i, row, start, n in picked]
        )
        length = picked[:, 3]
        which = np.repeat(np.arange(len(picked)), length)
        begin = np.repeat(np.cumsum(length) - length, length)
        time = np.arange(len(steps)) - begin
        window = _window(steps["proprio"].astype(np.float32), begin, time, PROPRIO_FRAMES)
        vector = np.concatenate([window, steps["command"].astype(np.float32)], 1)
        maps = np.unpackbits(steps["map"], axis=1)
        rows = -(-len(steps) // ROUND_UP) * ROUND_UP
        stack = np.zeros((rows, BALL_FRAMES, CELLS, CELLS), dtype=np.float32)
        stack[: len(steps)] = _window(maps, begin, time, BALL_FRAMES).reshape(-1, *stack.shape[1:])
        return Batch(
            torch.from_numpy(vector),
            torch.from_numpy(stack),
            torch.from_numpy(steps["label"].astype(np.float32)),
            torch.from_numpy(time * len(picked) + which),
            (int(length.max()), len(picked)),
        )


def _window(frames: np.ndarray, begin: np.ndarray, time: np.ndarray, n: int) -> np.ndarray:
    """Return the last n frames at each step, oldest first; the first one fills a young history."""
    past = np.maximum(time[:, None] - np.arange(n)[::-1], 0) + begin[:, None]
    return frames[past].reshape(len(frames), -1)


def _open(path: Path) -> np.ndarray:
    try:
        part = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path} is damaged: {str(error).splitlines()[0]}") from None
    if not isinstance(part, np.memmap):
        raise UserError(f"{path} does not hold the steps of this version of s2m")
    # Files of older runs end with their last step, without a sum.
    if path.stat().st_size != part.offset + part.nbytes and not is_sound(path):
        raise UserError(
            f"{path} is damaged: its content does not match its checksum; delete the folder of the "
            "student and start over"
        )
    whole = part.dtype == STEP and part.ndim == 2 and part.size
    if not whole or not part["first"][:, 0].all():
        raise UserError(f"{path} does not hold the steps of this version of s2m")
    return part


def _trajectories(index: int, part: np.ndarray) -> np.ndarray:
    row, start = np.nonzero(part["first"])
    # Within an environment a trajectory ends where the next one begins, or with the collection.
    following = np.append(start[1:], part.shape[1])
    last = np.append(row[1:] != row[:-1], True)
    length = np.where(last, part.shape[1], following) - start
    return np.stack([np.full_like(row, index), row, start, length], 1)
