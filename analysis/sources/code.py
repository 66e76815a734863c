"""Which code a run was made with, so that runs of different code are not mixed by accident."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from s2m.run.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "s2m"
"""The folder whose code decides a result; the settings stand resolved in the run's own config."""


def code_key(folder: RunFolder) -> str:
    """Return text that is equal for runs whose package `s2m` was the same.

    Commits that differ elsewhere (docs, tests, analysis) count as equal where git still knows them,
    and of the uncommitted patch only what touches the package counts.
    """
    identity = folder.identity
    base = _tree(identity.commit) if identity.commit else "unknown"
    patch = _package_part(folder.patch) if identity.dirty else b""
    return f"{base}+{hashlib.sha256(patch).hexdigest()[:8]}" if patch else base


@cache
def _tree(commit: str) -> str:
    """Return git's name of the package's content at a commit; the commit itself if it is gone."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{commit}:{PACKAGE}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return commit
    return done.stdout.strip() or commit


def _package_part(patch: Path) -> bytes:
    try:
        text = patch.read_bytes()
    except OSError:
        return b"missing"
    head, *parts = text.split(b"diff --git ")
    wanted = f"a/{PACKAGE}/".encode(), f"b/{PACKAGE}/".encode()
    kept = [part for part in parts if any(name in part.split(b"\n", 1)[0] for name in wanted)]
    # Files left out of the patch are named in its first lines.
    named = [line for line in head.splitlines() if f"'{PACKAGE}/".encode() in line]
    return b"".join(kept + named)
