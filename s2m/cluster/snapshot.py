"""A copy of the code for the jobs of a launch: edits made after it change nothing in them."""

import hashlib
import secrets
import shutil
from pathlib import Path

from s2m.compose import CONF

PARTS = ("s2m", "conf", "sweeps", "analysis")


def source_files(root: Path) -> list[Path]:
    """Return the files that jobs may need, relative to the project's folder."""
    return sorted(
        path.relative_to(root)
        for part in PARTS
        for path in (root / part).rglob("*")
        if path.is_file() and not any(_left_out(name) for name in path.relative_to(root).parts)
    )


def _left_out(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def freeze(target: Path, root: Path = CONF.parent) -> Path:
    """Copy the code below `target`, into a folder named by its content, and return that."""
    names = source_files(root)
    contents = {name: (root / name).read_bytes() for name in names}
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    folder = target / digest.hexdigest()[:16]
    if folder.exists():
        return folder
    fresh = target / f".{secrets.token_hex(4)}.tmp"
    for name, content in contents.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        fresh.rename(folder)
    except OSError:  # somebody else was faster
        shutil.rmtree(fresh)
    return folder
