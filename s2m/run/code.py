"""Which code a run was made with: the commit and whatever differs from it."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

SECRET = (
    ".env*", "*.env", "*key*", "*secret*", "*token*", "*password*", "*credential*", "*.pem",
    "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", ".netrc", ".pypirc", ".npmrc",
)  # fmt: skip
"""Names of files or folders, in any case, whose content never enters a patch or a copy."""

LARGEST = 256 * 1024
"""Untracked files above this many bytes are only named."""

MOST = 200
"""Untracked files beyond this number are only named: outputs that someone forgot to ignore."""


@dataclass(frozen=True)
class CodeState:
    """The code of a run; `git apply` of the patch on the commit gives it back."""

    commit: str | None = None
    dirty: bool = False
    patch: str = ""


LAUNCHED = (".launch.lock", ".slurm")
"""What a launch puts into its folder of runs."""


def code_state(root: Path) -> CodeState:
    """Return the state of the code below `root`; an empty one where git knows nothing about it.

    Folders of runs are no part of it, wherever they lie and whoever launched into them.

    The patch covers changed tracked files and untracked text files. Those it leaves out (secret by
    their name, binary, large, too many) are named in its first lines, which git skips.
    """
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    # An exported tree may lie inside some other repository, whose commit says nothing.
    if commit is None or not _git(root, "ls-files", "-z", "--", "."):
        return CodeState()
    changed = _names(root, "diff", "--name-only", "-z", "--relative", "HEAD", "--", ".")
    untracked = _names(root, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    archived = _names(root, "ls-files", "-z", "--", ":(glob)**/run.json")
    runs = _folders_of_runs([*untracked, *archived])
    changed, untracked = (
        [name for name in names if runs.isdisjoint(_above(name))] for names in (changed, untracked)
    )
    tracked = [name for name in changed if not is_secret(name)]
    fresh = [name for name in untracked if not is_secret(name) and _is_text(root / name)][:MOST]
    parts = [
        f"# not included (secret by its name, binary, large or too many): {name!r}\n"
        for name in sorted({*changed, *untracked} - {*tracked, *fresh})
    ]
    if tracked:
        literal = (f":(literal){name}" for name in tracked)
        parts.append(_git(root, *_DIFF, "--relative", "HEAD", "--", *literal) or _FAILED)
    for name in fresh:
        parts.append(_git(root, *_DIFF, "--no-index", "--", os.devnull, name) or _FAILED)
    return CodeState(commit.strip(), bool(changed or untracked), "".join(parts))


def _folders_of_runs(names: Iterable[str]) -> set[str]:
    """Return the folders that launches wrote to, and those of experiments in any other place.

    A folder of runs may be the checkout itself: then only what a launch puts there is left out.
    """
    found = set()
    for name in names:
        *above, last = name.split("/")
        marks = [place for place, part in enumerate([*above, last]) if part in LAUNCHED]
        if marks:
            found.add("/".join(above[: marks[0]]) or name)
        elif last == "run.json" and len(above) > 1:
            found.add("/".join(above[:-1]))
    return found


def _above(name: str) -> Iterator[str]:
    """Yield a file's name and those of the folders that it lies in."""
    while name:
        yield name
        name = name.rpartition("/")[0]


_DIFF = (
    "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--binary",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_FAILED = "# git could not show a difference that it had named\n"


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git prints, bytes that are not UTF-8 as surrogates; None if it cannot tell."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            env=clean | {"GIT_OPTIONAL_LOCKS": "0"},
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # diff --no-index answers 1 when the files differ, which is what we ask for.
    expected = (0, 1) if "--no-index" in arguments else (0,)
    if done.returncode not in expected:
        return None
    return done.stdout.decode("utf-8", "surrogateescape")


def _names(root: Path, *arguments: str) -> list[str]:
    return [name for name in (_git(root, *arguments) or "").split("\0") if name]


def is_secret(name: str) -> bool:
    """Tell whether a file, by its name or that of a folder above it, may hold a secret."""
    return any(fnmatch(part, rule) for part in name.lower().split("/") for rule in SECRET)


def _is_text(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        return False
    return b"\0" not in path.read_bytes()
