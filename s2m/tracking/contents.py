"""What of a run folder goes to W&B: its name there, its settings, its small files, its summary."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2m.run.events import Events
from s2m.run.files import sha256, to_json
from s2m.run.folder import FILES, RunFolder
from s2m.run.lock import current_attempt
from s2m.run.naming import among_siblings
from s2m.run.status import status_of
from s2m.tracking.mode import tracking_of

if TYPE_CHECKING:
    import pyarrow

MARKER = "s2m"
"""Key of the W&B config under which stands what was sent, and folder of the run's files there."""
FILMS = ("*.mp4", "*.gif")
TAG = 64
"""Longest tag that W&B accepts."""


def full_name(folder: RunFolder) -> str:
    """Return `<experiment>/<folder>`, by which people know a run."""
    path = folder.path.resolve()
    return f"{path.parent.name}/{path.name}"


def run_id(folder: RunFolder) -> str:
    """Return the run's id on W&B: the start of its signature, and its experiment's.

    The same run may lie in two experiments, where each is trained and mirrored by itself.
    """
    experiment = folder.path.resolve().parent.name
    return f"{folder.identity.signature[:24]}-{sha256(experiment.encode())[:8]}"


def description(folder: RunFolder) -> dict[str, Any]:
    """Return how the run is called and found on W&B; a student by its own budget.

    Name, group and tags show the settings in which the runs of its experiment differ.
    """
    config, name = folder.config(), among_siblings(folder)
    experiment = full_name(folder).partition("/")[0]
    slots = "permuted" if config["permute"] else "fixed slots"
    tags = [experiment, config[folder.kind.budget]["name"], config["sim"]["name"], slots]
    tags += [setting for setting in name.settings if "=" in setting]
    chosen, identity = tracking_of(folder), folder.identity
    return {
        "id": run_id(folder),
        "name": chosen.called(
            run=str(name), experiment=experiment, variant=identity.variant, seed=str(identity.seed)
        ),
        "group": chosen.group or name.row,
        "notes": chosen.notes or None,
        "job_type": folder.kind.stage,
        "tags": sorted({str(tag)[:TAG] for tag in [*tags, *chosen.tags]}),
        "config": config,
    }


def files(folder: RunFolder, ended: bool = False) -> dict[str, bytes]:
    """Return the small files of a run; `ended` says that nobody writes to it any more.

    Elsewhere nobody can tell whether its process lives: a copy of `attempt.json` says so.
    """
    found = {}
    for name in FILES:
        path = folder.inside(name)
        try:
            found[name] = path.read_bytes()
        except FileNotFoundError:
            continue
    attempt = current_attempt(folder)
    if attempt is not None and attempt.ended is None and (ended or attempt.is_alive() is False):
        events = Events(folder).read()
        over = replace(attempt, ended=events[-1]["time"] if events else attempt.started)
        found["attempt.json"] = to_json(asdict(over)).encode()
    return found


def stamp(folder: RunFolder) -> tuple[Any, ...]:
    """Return something that changes whenever one of the small files does; costs only `stat`."""
    found = []
    for name in FILES:
        try:
            status = (folder.path / name).stat()
        except FileNotFoundError:
            continue
        found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def films(folder: RunFolder) -> list[Path]:
    """Return the films that lie in the folder."""
    return sorted(path for kind in FILMS for path in folder.path.glob(kind))


def checksums(contents: dict[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file."""
    return {name: sha256(data) for name, data in contents.items()}


def summary(folder: RunFolder) -> dict[str, Any]:
    """Return the numbers that stand beside a run in W&B's table of runs."""
    numbers: dict[str, Any] = {"run/state": status_of(folder)}
    for event in Events(folder).read():
        if event["kind"] == "level":
            numbers[f"reached/level_{event['level']}"] = event["iteration"]
    trained, judged = folder.result("train"), folder.result("evaluate")
    if trained is not None:
        numbers["run/encoder_parameters"] = trained["encoder_parameters"]
        numbers["run/actor_parameters"] = trained["actor_parameters"]
    distilled = folder.result("distill") or {}
    for name in {"parameters", "teacher"} & distilled.keys():
        numbers[f"run/{name}"] = distilled[name]
    for k, counts in (judged or {}).get("successes", {}).items():
        for metric in ("strict", "no_drop"):
            numbers[f"evaluate/{metric}_k{k}"] = counts[metric] / counts["n"]
    return numbers


def digest(table: "pyarrow.Table") -> str:
    """Return text that is equal for equal tables of metrics."""
    found = hashlib.sha256()
    for name in table.column_names:
        column = table[name]
        found.update(json.dumps([name, len(table)]).encode())
        found.update(column.is_valid().to_numpy().tobytes())
        found.update(column.to_numpy().tobytes())
    return found.hexdigest()
