"""Which code a run was made with, so that runs of different code are not mixed by accident."""

import subprocess
from functools import cache
from pathlib import Path

from s2m.run.files import sha256
from s2m.run.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("robot", "task", "sim", "env", "encoders", "policy", "learning", "stages")
"""Rooms of s2m whose code computes a result; the settings stand in the run's own config."""
PLACES = tuple(f"s2m/{room}" for room in ROOMS)
WHOLE = "s2m"
"""What counts of commits from before there were rooms."""


def code_key(folder: RunFolder) -> str:
    """Return text that is equal for runs whose results were computed by the same code.

    Commits that differ elsewhere (docs, tests, analysis, the launcher) count as equal where git
    still knows them, and of the uncommitted patch only what touches these rooms counts.
    """
    identity = folder.identity
    base, places = _trees(identity.commit) if identity.commit else ("unknown", PLACES)
    patch = _part(folder.patch, places) if identity.dirty else b""
    return f"{base}+{sha256(patch)[:8]}" if patch else base


@cache
def _trees(commit: str) -> tuple[str, tuple[str, ...]]:
    """Return git's name of what computes at a commit, or the commit if it is gone; and where."""
    if found := _names(commit, PLACES):
        return sha256(found.encode()), PLACES
    if found := _names(commit, (WHOLE,)):
        return found, (WHOLE,)
    return commit, PLACES


def _names(commit: str, places: tuple[str, ...]) -> str:
    """Return git's names of folders at a commit; empty if one of them is not there."""
    words = [f"{commit}:{place}" for place in places]
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--quiet", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _part(patch: Path, places: tuple[str, ...]) -> bytes:
    """Return what of a patch touches some places."""
    try:
        text = patch.read_bytes()
    except OSError:
        return b"missing"
    head, *parts = text.split(b"diff --git ")
    wanted = [f"{side}/{place}/".encode() for side in "ab" for place in places]
    kept = [part for part in parts if any(name in part.split(b"\n", 1)[0] for name in wanted)]
    # Files left out of the patch are named in its first lines.
    names = [f"'{place}/".encode() for place in places]
    named = [line for line in head.splitlines() if any(name in line for name in names)]
    return b"".join(kept + named)
