"""Files that are cut, flipped, emptied or gone, and what becomes of the run they belong to."""

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.frames import AnyRun, Evaluation, Run
from analysis.sources import local
from s2m.console.errors import UserError
from s2m.monitor.survey import survey
from s2m.run.folder import RunFolder
from s2m.run.status import FINISHED, UNREADABLE
from s2m.stages.execute import execute
from tests.faults.runs import differences

KINDS = ("cut", "flip", "empty", "gone")
IDLE = ("lock", "run.log", "stop")
"""Files of a run folder from which nothing is read."""

SURVIVED, REFUSED, LOST, WRONG = "survived", "refused", "lost", "wrong"


@dataclass(frozen=True)
class Verdict:
    """What a fault did to a run."""

    outcome: str
    """SURVIVED: bit-equal; REFUSED: one line and no number; LOST: gone without a word; or WRONG."""
    detail: str = ""


def files(folder: RunFolder) -> list[Path]:
    """Return the files of a run that somebody reads."""
    found = [path for path in folder.path.rglob("*") if path.is_file()]
    return sorted(path for path in found if path.name not in IDLE)


def damage(path: Path, kind: str, chance: random.Random) -> None:
    """Spoil a file."""
    data = bytearray(path.read_bytes())
    if kind == "gone":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(data[: chance.randrange(len(data))])
    elif kind == "flip":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
    else:
        raise ValueError(kind)


def one_line(text: str) -> bool:
    """Tell whether somebody can read a reason at a glance."""
    return bool(text.strip()) and "\n" not in text and "Traceback" not in text


def read(root: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what analysis and status make of the one run below a folder, and their complaints."""
    frames = local.load(root)
    (entry,) = survey(root)
    said = {}
    for item in frames.unread:
        said["analysis"] = item.reason
    if entry.state.status == UNREADABLE:
        said["status"] = entry.state.failure
    found: dict[str, Any] = {"status": entry.state}
    for run in [*frames.runs, *frames.students]:
        found["run"] = run
    return found, said


def misread(root: Path, sound: dict[str, Any]) -> Verdict | None:
    """Compare what status and analysis say about a damaged run with what they said before."""
    found, said = read(root)
    broken = [reason for reason in said.values() if not one_line(reason)]
    if broken:
        return Verdict(WRONG, f"no clear line: {broken[0]}")
    state, before = found["status"], sound["status"]
    if state.status == FINISHED and (state.iteration, state.levels) != (
        before.iteration,
        before.levels,
    ):
        return Verdict(WRONG, f"status: {state.iteration} {state.levels}")
    if "run" not in found:
        return None if "analysis" in said else Verdict(LOST, "analysis has no word of it")
    return _compare(found["run"], sound["run"])


def _judged(run: AnyRun) -> Evaluation | None:
    """Return the evaluation of a run wherever its episodes lie."""
    return run.evaluation and replace(run.evaluation, file=Path())


def _compare(now: AnyRun, before: AnyRun) -> Verdict | None:
    """Every number is what it was, or is not there, or belongs to a run that is not finished."""
    if (now.seed, dict(now.config)) != (before.seed, dict(before.config)):
        return Verdict(WRONG, "identity")
    if now.evaluation is not None and _judged(now) != _judged(before):
        return Verdict(WRONG, "evaluation")
    if now.state == FINISHED or before.state != FINISHED:
        for name in ("levels", "rounds"):
            if getattr(now, name, None) != getattr(before, name, None):
                return Verdict(WRONG, name)
    if now.state == FINISHED:
        for name in ("iteration", "seconds"):
            if getattr(now, name, None) != getattr(before, name, None):
                return Verdict(WRONG, name)
    if isinstance(now, Run) and isinstance(before, Run) and now.state == FINISHED:
        for name, values in before.curves.metrics.items():
            if not np.array_equal(now.curves.metrics[name], values, equal_nan=True):
                return Verdict(WRONG, f"curve of {name}")
    return None


def outcome(folder: RunFolder, expected: dict[str, str]) -> Verdict:
    """Let a damaged run go on: it ends as it would have, or says in one line why it cannot."""
    try:
        execute(RunFolder.open(folder.path))
        wrong = differences(RunFolder(folder.path), expected)
    except UserError as error:
        return Verdict(REFUSED if one_line(str(error)) else WRONG, str(error))
    except Exception as error:
        return Verdict(WRONG, f"{type(error).__name__}: {error}")
    return Verdict(WRONG, ", ".join(wrong)) if wrong else Verdict(SURVIVED)
