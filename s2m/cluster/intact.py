"""The hash of all that can be imported or read from a copy of the code, and its check.

A job runs this text by itself before it imports anything of the copy, so it needs nothing but the
standard library.
"""

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

PARTS = ("s2m", "conf", "sweeps", "analysis")
"""Folders of the project that jobs need."""
MODULES = (".py", ".pyc", ".so")
DIGITS = 16
"""Hexadecimal digits of the hash, which is a copy's name."""


def is_hidden(path: Path) -> bool:
    """Tell whether nobody reads it: Python's cache is never read once its source has changed."""
    return any(name.startswith(".") or name == "__pycache__" for name in path.parts)


def members(folder: Path) -> list[Path]:
    """Return the files that decide what a job does, relative: those of `PARTS` and any module."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [
        name for name in names
        if not is_hidden(name) and (name.parts[0] in PARTS or name.suffix in MODULES)
    ]  # fmt: skip


def digest(contents: Iterable[tuple[str, bytes]]) -> str:
    """Return the hash of files, given as pairs of name and content."""
    found = hashlib.sha256()
    for name, content in sorted(contents):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:DIGITS]


def damage(folder: Path) -> str:
    """Say what is wrong with a copy; empty if it is what its name says."""
    try:
        contents = [(path.as_posix(), (folder / path).read_bytes()) for path in members(folder)]
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not contents:
        return "is gone"
    if digest(contents) != folder.name:
        return "is not the code that was submitted: its files do not match its hash"
    return ""


if __name__ == "__main__":
    said = damage(Path(sys.argv[1]))
    if said:
        advice = "launch again with retry_failed=true, which copies the code again"
        sys.exit(f"error: the copy of the code {sys.argv[1]} {said}; {advice}")
