"""Runs from a W&B project: fetched into a cache of run folders, then read as those are.

What s2m has sent holds all that the analysis reads of a folder, each file with its checksum: both
sources give the same tables.
"""

import json
import os
import re
import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.frames import Frames, LeftOut
from analysis.sources import local
from analysis.sources.values import complaint, words
from s2m.console.errors import UserError, unknown
from s2m.run.files import write_json
from s2m.run.metrics import write_table
from s2m.tracking.client import Project, marker, scratch_folder, split
from s2m.tracking.contents import MARKER

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "s2m" / "wandb"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
"""`<experiment>/<folder>`; whatever else a project says cannot become a path."""
_ID = re.compile(r"[A-Za-z0-9_-]+")
"""W&B's id of a run, which names the folder of its files."""


def load(
    project: str,
    experiment: str | None = None,
    cache: Path = CACHE,
    watch: Any = lambda runs, total, what="": runs,
    metrics: Collection[str] = (),
) -> Frames:
    """Fetch what is new of the project's runs, and read all of them."""
    entity, name = split(project)
    with scratch_folder() as scratch:
        found = Project(entity, name)
        runs = {str(marker(run)["run"]): run for run in found.runs()}
        wanted = sorted(n for n in runs if experiment in (None, n.split("/")[0]))
        if experiment is not None and not wanted:
            raise unknown("experiment", experiment, sorted({n.split("/")[0] for n in runs}))
        root = cache / found.entity / found.name
        unread = []
        for key in watch(wanted, len(wanted), "fetching runs"):
            if not _NAME.fullmatch(key) or ".." in key:
                said = f"its name at W&B, {key!r}, is not the name of a run folder"
                unread.append(LeftOut(words(key), said))
                continue
            try:
                _fetch(found, runs[key], root, key, scratch)
            except Exception as error:  # whatever is wrong with one run, the others are read
                unread.append(LeftOut(key, complaint(error)))
                shutil.rmtree(root / "runs" / key, ignore_errors=True)
    _forget_others(root / "runs", {*wanted} - {item.id for item in unread})
    frames = local.load(root / "runs", metrics=metrics)
    links = {name: str(run.url) for name, run in runs.items()}
    read = [replace(run, link=links[run.id]) for run in frames.runs]
    students = [replace(student, link=links[student.id]) for student in frames.students]
    return Frames(read, [*frames.unread, *unread], students)


def _fetch(project: Project, run: Any, root: Path, name: str, scratch: Path) -> None:
    """Bring one run folder of the cache up to date."""
    if not _ID.fullmatch(run.id):
        raise UserError(f"its id at W&B, {run.id!r}, is not the name of a folder")
    noted = marker(run)["files"]
    if "run.json" not in noted:
        raise UserError("W&B has no note of its run.json: python -m s2m.sync")
    target, files = root / "runs" / name, root / "files" / run.id
    files.mkdir(parents=True, exist_ok=True)
    if lacking := project.fetch(run, files):
        raise UserError(f"W&B does not have its {', '.join(lacking)} yet: python -m s2m.sync")
    # Rows are only ever added: the same last step means the same rows.
    state = {"step": run.lastHistoryStep, "files": noted}
    stamp = files / "stamp.json"
    if stamp.exists() and target.exists() and json.loads(stamp.read_text()) == state:
        return
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(files / MARKER, target)
    write_table(target / "metrics.parquet", project.table(run, scratch))
    write_json(stamp, state)


def _forget_others(root: Path, names: set[str]) -> None:
    """Delete what was fetched before and is not wanted now: all that lies there is read."""
    root.mkdir(parents=True, exist_ok=True)
    for folder in root.glob("*/*"):
        if f"{folder.parent.name}/{folder.name}" not in names:
            shutil.rmtree(folder)
