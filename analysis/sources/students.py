"""Tactile students from their run folders."""

from typing import Any

import numpy as np

from analysis.frames import FINISHED, PENDING, STOPPED, Student
from analysis.sources.episodes import read_evaluation
from analysis.sources.metrics import read_metrics
from s2m.errors import UserError
from s2m.run.events import Event, Events
from s2m.run.folder import RunFolder
from s2m.run.standing import standing

TIME = "time/iteration"
RATE = "round/no_drop_"


def read_student(folder: RunFolder, name: str) -> Student:
    """Read the folder of a student."""
    identity, config = folder.identity, folder.config()
    teacher = config["taught_by"]
    result = folder.result("distill")
    events = Events(folder).read()
    state, reason = standing(folder, events)
    evaluation, remark = read_evaluation(folder) if result else (None, "")
    table = read_metrics(folder, [TIME], result)
    seconds = table[TIME].to_numpy() if TIME in table.column_names else np.empty(0)
    of_run = f"{teacher['variant']}-s{teacher['seed']}-{teacher['signature'][:8]}"
    return Student(
        id=name,
        name=folder.path.name,
        link=str(folder.path),
        teacher=of_run if teacher["signature"] else f"agent {teacher['variant']}",
        taught_by=teacher["signature"],
        seed=identity.seed,
        commit=identity.commit,
        dirty=identity.dirty,
        config=config,
        state=FINISHED if result else state,
        reason=reason,
        iteration=int(result["iterations"]) if result else len(table),
        rounds=_rounds(result, events),
        parameters=(result or {}).get("parameters"),
        seconds=float(np.nansum(seconds)) if len(seconds) else None,
        evaluation=evaluation,
        judging=PENDING if state == STOPPED else state,
        remark=remark,
    )


def _rounds(result: dict[str, Any] | None, events: list[Event]) -> list[dict[int, float]]:
    """Return the no-drop rates after each round, by number of balls."""
    found = {int(e["round"]): e["rates"] for e in events if e["kind"] == "round"}
    if result is not None and "rounds" in result:
        found = {int(r["round"]): r for r in result["rounds"]}
    if sorted(found) != list(range(len(found))):
        raise UserError("its events have lost a round")
    return [
        {int(k.removeprefix(RATE)): float(v) for k, v in found[i].items() if k.startswith(RATE)}
        for i in sorted(found)
    ]
