"""Where run folders are: below a root, or behind the beginning of a name."""

import os
from glob import escape
from pathlib import Path

from s2m.console.errors import UserError

SHOWN = 5
"""Folders that are named where the beginning of a name is that of several."""


def run_paths(root: Path) -> list[Path]:
    """Return the run folders at or up to two levels below `root`, sorted."""
    found: list[Path] = []
    try:
        _search(root, 2, found)
    except PermissionError:
        raise UserError(why_closed(root) or f"cannot read {root}") from None
    return sorted(found)


def _search(place: Path, depth: int, found: list[Path]) -> None:
    """Add the run folder that a place is, or those below it."""
    if any((place / name).exists() for name in ("run.json", "attempt.json")):
        found.append(place)
        return
    if depth == 0:
        return
    try:
        with os.scandir(place) as entries:
            inside = [place / entry.name for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
        return
    for path in inside:
        try:
            _search(path, depth - 1, found)
        except PermissionError:
            if not path.name.startswith("."):
                found.append(path)


def why_closed(path: Path) -> str:
    """Say what to do about a folder that this user cannot read; empty if it can be read."""
    if os.access(path, os.R_OK | os.X_OK) or not path.is_dir():
        return ""
    try:
        owner = path.owner()
    except KeyError:
        owner = f"user {path.stat().st_uid}"
    return (
        f"cannot read {path}, which belongs to {owner}: ask for chmod -R g+rX, and for umask 027 "
        "in what is launched later"
    )


def locate(path: Path | str) -> Path:
    """Return the folder that a path names, for which the beginning of its name is enough.

    A name alone is also looked for among the runs below `runs`. What is not there stays as it is.
    """
    path = Path(path)
    if path.exists() or not path.name:
        return path
    places = [path.parent, *(Path("runs").glob("*") if path.parent == Path() else ())]
    begun = [
        found
        for place in places
        for found in sorted(place.glob(f"{escape(path.name)}*"))
        if found.is_dir()
    ]
    # pfds-s4 means that seed, if there is one, and not pfds-s40.
    whole = [found for found in begun if found.name.startswith(f"{path.name}-")]
    found = whole if len(whole) == 1 else begun
    if len(found) > 1:
        shown = ", ".join(one.name for one in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UserError(f"{path} may be {shown}{more}: write more of the name")
    return found[0] if found else path
