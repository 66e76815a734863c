"""A copy of the code for the jobs of a launch: edits made after it change nothing in them."""

import hashlib
import os
import secrets
import shutil
from pathlib import Path

from s2m.config.search import CONF
from s2m.run.code import is_secret

PARTS = ("s2m", "conf", "sweeps", "analysis")


def source_files(root: Path) -> list[Path]:
    """Return the files that jobs may need, relative to the project's folder."""
    return sorted(
        path.relative_to(root)
        for part in PARTS
        for path in (root / part).rglob("*")
        if path.is_file() and not _left_out(path.relative_to(root))
    )


def _left_out(path: Path) -> bool:
    if any(name.startswith(".") or name == "__pycache__" for name in path.parts):
        return True
    # Modules are imported, whatever they are called: s2m/tracking/key.py is one.
    return path.suffix != ".py" and is_secret(path.as_posix())


def freeze(target: Path, root: Path = CONF.parent) -> Path:
    """Copy the code below `target`, into a folder named by its content, and return that.

    Whoever may not read a file of ours may not read its copy.
    """
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
        mode = (root / name).stat().st_mode & 0o777
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
    try:
        fresh.rename(folder)
    except OSError:  # somebody else was faster
        shutil.rmtree(fresh)
    return folder
