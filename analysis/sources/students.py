"""Tactile students from their run folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.frames import StudentRun
from analysis.sources.episodes import judging, read_evaluation
from analysis.sources.metrics import read_metrics
from analysis.sources.values import check_config, count, words
from s2m.config.distill import TaughtByCfg
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.milestones import RATE, ROUND, rounds
from s2m.run.status import FINISHED, standing

NO_DROP = f"{RATE}no_drop_"


def read_student(folder: RunFolder, name: str) -> StudentRun:
    """Read the folder of a student."""
    identity, config = folder.identity, folder.config()
    check_config(config, student=True)
    teacher = config["taught_by"]
    result = folder.result("distill")
    events = Events(folder).read()
    state, reason = standing(folder, events)
    evaluation, remark = read_evaluation(folder) if result else (None, "")
    rates = [f"{NO_DROP}{k}" for k in config["distill"]["levels"]]
    table = read_metrics(folder, [ROUND, *rates], result)
    return StudentRun(
        id=name,
        name=words(folder.path.name),
        link=str(folder.path),
        teacher=words(TaughtByCfg(**teacher).name),
        taught_by=teacher["signature"],
        taught_at=words("/".join(Path(str(config.get("teacher", ""))).parts[-2:])),
        seed=identity.seed,
        commit=identity.commit,
        dirty=identity.dirty,
        config=config,
        state=FINISHED if result else state,
        reason=words(reason),
        iteration=count(result["iterations"]) if result else len(table),
        rounds=_rounds(rounds(table) if ROUND in table.column_names else events),
        evaluation=evaluation,
        judging=judging(state, remark),
        remark=remark,
    )


def _rounds(told: Sequence[Mapping[str, Any]]) -> list[dict[int, float]]:
    """Return the no-drop rates after each round, by number of balls, of metrics or of events."""
    found = {int(e["round"]): e.get("rates", e) for e in told if "round" in e}
    if sorted(found) != list(range(len(found))):
        raise UserError("the result of one of its rounds is lost")
    return [
        {
            int(k.removeprefix(NO_DROP)): float(v)
            for k, v in found[i].items()
            if k.startswith(NO_DROP)
        }
        for i in sorted(found)
    ]
