"""The last line of a checkpoint, which holds the SHA-256 of all before it; read without torch."""

from pathlib import Path

from s2m.errors import UserError

MARK = b"\ns2m-sha256 "
TRAILER = len(MARK) + 64 + 1


def sum_in(path: Path) -> str:
    """Return the checksum that a checkpoint says it has, unverified; a UserError if it has none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TRAILER))
            trailer = file.read()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not trailer.startswith(MARK):
        raise UserError(f"{path} has no checksum: it was cut off, or s2m did not write it")
    return trailer[len(MARK) :].strip().decode("ascii", "replace")
