"""The last line of a file of binary data, which holds the SHA-256 of all before it.

Checkpoints and the steps of a distillation end with it; reading it needs no torch.
"""

from pathlib import Path

from s2m.console.errors import UserError
from s2m.run.files import replacing, sha256

MARK = b"\ns2m-sha256 "
TRAILER = len(MARK) + 64 + 1


def trailer(checksum: str) -> bytes:
    """Return the last line of a file whose other bytes have this checksum."""
    return MARK + checksum.encode() + b"\n"


def seal(path: Path, data: bytes | memoryview) -> None:
    """Replace a file with some bytes and their sum."""
    with replacing(path) as file:
        file.write(data)
        file.write(trailer(sha256(data)))


def is_sound(path: Path) -> bool:
    """Tell whether all of a file matches the sum in its last line."""
    data = memoryview(path.read_bytes())
    return data[-TRAILER:] == trailer(sha256(data[:-TRAILER]))


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
