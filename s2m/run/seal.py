"""The last line of a file of binary data, which holds the SHA-256 of all before it.

Checkpoints and the steps of a distillation end with it; reading it needs no torch.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from s2m.console.errors import UserError
from s2m.run.files import replacing

MARK = b"\ns2m-sha256 "
TRAILER = len(MARK) + 64 + 1
_BLOCK = 1 << 20


def trailer(checksum: str) -> bytes:
    """Return the last line of a file whose other bytes have this checksum."""
    return MARK + checksum.encode() + b"\n"


class Sealed:
    """A file that is written front to back, with the sum of all that went into it."""

    def __init__(self, file: BinaryIO) -> None:
        """Write to an open file."""
        self._file, self.sum = file, hashlib.sha256()

    def write(self, data: bytes | memoryview) -> int:
        """Write some bytes."""
        self.sum.update(data)
        return self._file.write(data)


@contextmanager
def sealing(path: Path) -> Iterator[Sealed]:
    """Open a file that, with its sum, replaces `path` once the block has ended."""
    with replacing(path) as file:
        sealed = Sealed(file)
        yield sealed
        file.write(trailer(sealed.sum.hexdigest()))


def is_sound(path: Path) -> bool:
    """Tell whether all of a file matches the sum in its last line."""
    found, left = hashlib.sha256(), path.stat().st_size - TRAILER
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            found.update(block)
            left -= len(block)
        return file.read() == trailer(found.hexdigest())


def sum_in(path: Path) -> str:
    """Return the checksum that a checkpoint says it has, unverified; a UserError if it has none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TRAILER))
            last = file.read()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not last.startswith(MARK):
        raise UserError(f"{path} has no checksum: it was cut off, or s2m did not write it")
    return last[len(MARK) :].strip().decode("ascii", "replace")
