"""Runs from run folders: the source that is always there."""

import math
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from analysis.frames import ELAPSED, POINTS, SYMMETRY, Curves, Frames, LeftOut, Levels, Run
from analysis.sources.code import code_key
from analysis.sources.episodes import judging, read_evaluation
from analysis.sources.metrics import read_metrics
from analysis.sources.students import read_student
from analysis.sources.values import check_config, complaint, count, is_level, parameters, words
from s2m.config.curriculum import CRITERIA
from s2m.console.errors import UserError, unknown
from s2m.run.events import Event, Events
from s2m.run.folder import RunFolder, find_runs, saved
from s2m.run.kind import STUDENT
from s2m.run.metrics import ITERATION
from s2m.run.milestones import LEVEL, level_changes
from s2m.run.seal import sum_in
from s2m.run.status import FINISHED, standing

TIME = "time/iteration"
LEARNING = ("reward/mean", "loss/value", "policy/std")
READ = (*(f"criteria/{name}" for name in CRITERIA), *LEARNING, *SYMMETRY, LEVEL, TIME)
"""Metrics that some table or figure shows; the others stay on disk."""

Watch = Callable[[Iterable[RunFolder], int], Iterable[RunFolder]]


def load(
    root: Path,
    experiment: str | None = None,
    watch: Watch = lambda runs, total: runs,
    metrics: Collection[str] = (),
) -> Frames:
    """Read all runs below a folder; `watch` may show the progress.

    `metrics` are read besides those that tables and figures always show.
    """
    if not root.is_dir():
        raise UserError(f"{root} is not a directory; runs are kept in ./runs unless root= is given")
    folders = [f for f in find_runs(root) if experiment in (None, f.path.parent.name)]
    if experiment is not None and not folders:
        names = sorted({folder.path.parent.name for folder in find_runs(root)})
        raise unknown("experiment", experiment, names or ["none: there is no run yet"])
    runs, students, unread = [], [], []
    for folder in watch(folders, len(folders)):
        name = words(f"{folder.path.parent.name}/{folder.path.name}")
        try:
            if folder.kind is STUDENT:
                students.append(read_student(folder, name))
            else:
                runs.append(_read(folder, name, [*READ, *metrics]))
        except Exception as error:  # whatever is wrong with one folder, the others are read
            unread.append(LeftOut(name, complaint(error)))
    return Frames(runs, unread, students)


def _read(folder: RunFolder, name: str, metrics: Collection[str]) -> Run:
    identity, config = folder.identity, folder.config()
    check_config(config)
    result = folder.result("train")
    events = Events(folder).read()
    start = int(config["curriculum"]["start"])
    levels, curves, seconds, last = _measured(folder, result, events, start, metrics)
    state, reason = standing(folder, events)
    evaluation, remark = read_evaluation(folder) if result else (None, "")
    return Run(
        id=name,
        name=words(folder.path.name),
        link=str(folder.path),
        variant=identity.variant,
        seed=identity.seed,
        signature=identity.signature,
        created=identity.created,
        commit=identity.commit,
        dirty=identity.dirty,
        code=code_key(folder),
        config=config,
        state=FINISHED if result else state,
        reason=words(reason),
        iteration=count(result["iterations"]) if result else last,
        levels=levels,
        group=identity.group,
        label=identity.label,
        colour=identity.colour,
        checkpoint=_last_checkpoint(folder),
        encoder_parameters=parameters(result, "encoder_parameters"),
        actor_parameters=parameters(result, "actor_parameters"),
        seconds=seconds,
        curves=curves,
        evaluation=evaluation,
        judging=judging(state, remark),
        remark=remark,
    )


def _last_checkpoint(folder: RunFolder) -> str:
    """Return the checksum of the newest checkpoint; empty without one that has it."""
    try:
        return sum_in(saved(folder)[-1])
    except (IndexError, OSError, UserError):
        return ""


def _measured(
    folder: RunFolder,
    result: dict[str, Any] | None,
    events: list[Event],
    start: int,
    metrics: Collection[str],
) -> tuple[Levels, Curves, float | None, int]:
    """Return level changes, thinned curves, seconds of all iterations and the last iteration."""
    table = read_metrics(folder, metrics, result)
    # The result is proof of the level changes; until then events and metrics tell of them.
    levels = level_changes(events, table, start)
    if result is not None:
        levels = {int(level): count(at) for level, at in result["levels"].items()}
    levels = {level: at for level, at in levels.items() if is_level(level)}
    return levels, *_curves(table, levels)


def _curves(table: pyarrow.Table, levels: Levels) -> tuple[Curves, float | None, int]:
    """Return the thinned curves, the seconds of all iterations and the last iteration."""
    if len(table) == 0:
        return Curves(np.empty(0)), None, 0
    columns = {name: table[name].to_numpy() for name in table.column_names}
    iteration = columns.pop(ITERATION)
    columns.pop(LEVEL, None)
    seconds = None
    if TIME in columns:
        columns[ELAPSED] = np.nancumsum(columns.pop(TIME))
        seconds = float(columns[ELAPSED][-1])
    keep = np.zeros(len(iteration), dtype=bool)
    keep[:: math.ceil(len(iteration) / POINTS)] = True
    keep[-1] = True
    keep |= np.isin(iteration, list(levels.values()))
    # Audits are made at checkpoints only: a plain stride would miss nearly all of them.
    for name in SYMMETRY:
        if name in columns:
            keep |= _stride(np.isfinite(columns[name]))
    metrics = {name: values[keep] for name, values in columns.items()}
    return Curves(iteration[keep], metrics), seconds, int(iteration[-1])


def _stride(known: np.ndarray) -> np.ndarray:
    """Keep about `POINTS` of the marked places, evenly, and the last."""
    places = np.flatnonzero(known)
    kept = np.zeros(len(known), dtype=bool)
    kept[places[:: max(1, math.ceil(len(places) / POINTS))]] = True
    kept[places[-1:]] = True
    return kept
