"""Copies of the code for the jobs of a launch: edits made after it change nothing in them.

A copy is named by the hash of its content. A job refuses one that differs before it imports
anything (`intact.py`), and `s2m/__init__.py` lets nothing be imported from elsewhere.
"""

import os
import secrets
import shlex
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from s2m.cluster import intact
from s2m.cluster.commands import SlurmError, ask
from s2m.cluster.intact import PARTS, damage, digest, is_hidden
from s2m.cluster.manifest import FOLDER, Ledger
from s2m.cluster.turn import launch_lock
from s2m.config.search import ROOT
from s2m.console.errors import UserError
from s2m.run.code import is_secret
from s2m.run.folder import RunFolder, unfinished

CODE = "code"
"""The folder of all copies, in `.slurm` below the folder of runs."""
ORPHANED = 3600.0
"""Seconds after which an unfinished copy belongs to a launch that was killed."""


def source_files(root: Path) -> list[Path]:
    """Return the files that jobs may need, relative to the project's folder."""
    return sorted(
        path.relative_to(root)
        for part in PARTS
        for path in (root / part).rglob("*")
        if path.is_file() and not _left_out(path.relative_to(root))
    )


def _left_out(path: Path) -> bool:
    # Modules are imported, whatever they are called: s2m/tracking/key.py is one.
    return is_hidden(path) or (path.suffix != ".py" and is_secret(path.as_posix()))


def freeze(target: Path, root: Path = ROOT) -> Path:
    """Copy the code below `target`, into a folder named by its content, and return that.

    A copy that is there and has been changed since is replaced. Whoever may not read a file of ours
    may not read its copy.
    """
    contents = {path.as_posix(): (root / path).read_bytes() for path in source_files(root)}
    folder = target / digest(contents.items())
    remove_orphans(target)
    if not damage(folder):
        return folder
    fresh = _temporary(target)
    try:
        for name, content in contents.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = (root / name).stat().st_mode & 0o777
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        if damage(folder):
            with suppress(FileNotFoundError):
                folder.rename(_temporary(target))
            fresh.rename(folder)
    except OSError as error:
        if damage(folder):  # otherwise somebody else was faster
            raise UserError(f"cannot copy the code to {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _temporary(target: Path) -> Path:
    return target / f".{secrets.token_hex(4)}.tmp"


def remove_orphans(target: Path) -> None:
    """Remove what launches that were killed, or had to replace a copy, have left unfinished."""
    for path in target.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_ctime > ORPHANED:
                shutil.rmtree(path, ignore_errors=True)


def guarded(python: str, code: Path, otherwise: str = "exit 1") -> list[str]:
    """Return the lines of a job's script that check its code and let Python find it.

    `otherwise` is what the script does where the code is not what was submitted.
    """
    path = shlex.quote(str(code))
    return [
        "# The code is imported only if it is what was submitted.",
        f"{python} -I - {path} <<'END_OF_CHECK' || {otherwise}",
        *Path(intact.__file__).read_text().rstrip().splitlines(),
        "END_OF_CHECK",
        f"export PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}",
    ]


def clean(root: Path) -> str:
    """Remove the copies of the code that no job and no unfinished run needs; say what was done."""
    target = root.resolve() / FOLDER / CODE
    if not target.is_dir():
        return f"{root} has no copies of the code"
    with launch_lock(root):
        try:  # jobs of all users start in their copy
            used = {Path(line).name for line in ask("squeue", "-h", "--format=%Z").splitlines()}
        except SlurmError as error:
            raise SlurmError(f"{error}: nothing was removed") from None
        used |= _needed(root)
        copies = [path for path in target.iterdir() if not path.name.startswith(".")]
        unused = sorted(path for path in copies if path.name not in used)
        size = sum(file.stat().st_size for path in unused for file in _files(path))
        for path in unused:
            aside = _temporary(target)  # gone at once, however long the deletion takes
            path.rename(aside)
            shutil.rmtree(aside)
        remove_orphans(target)
    return f"removed {len(unused)} of {len(copies)} copies of the code ({size / 1e6:.1f} MB)"


def _needed(root: Path) -> set[str]:
    """Return the names of the copies behind jobs and behind runs that are not finished."""
    found = set()
    for entry in Ledger.read(root).entries:
        manifest = entry.manifest
        if not manifest.over or any(_is_unfinished(RunFolder(root / run)) for run in manifest.runs):
            found.add(Path(manifest.code).name)
    return found


def _is_unfinished(run: RunFolder) -> bool:
    try:
        return bool(unfinished(run))
    except UserError:  # a damaged folder, of which nobody can tell
        return True


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
