"""Which runs are compared with each other: same settings, same code, every seed once."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.cohort import Cohort
from analysis.frames import LEFT_OUT, AnyRun, Evaluation, Frames, LeftOut, Run, StudentRun
from analysis.rows import CONTROLS, in_order, row
from s2m.console.errors import UserError, unknown
from s2m.run.identity import decisive
from s2m.run.status import FINISHED

LONGEST = 200
"""Characters of a setting that are shown."""
SHOWN = 3
"""Differing settings that are named when a run is left out."""


@dataclass(frozen=True)
class Study:
    """The runs that may stand in one table."""

    cohorts: dict[str, Cohort]
    """By variant: the paper's eight rows, also those without a run, then any others."""
    controls: dict[str, Cohort]
    """Those that act without learning, where there are runs of them."""
    left_out: list[LeftOut]
    config: Mapping[str, Any] | None
    """The settings all runs share, with the encoder, permutation and seed of one of them."""
    commits: list[str] = field(default_factory=list)
    students: list[StudentRun] = field(default_factory=list)
    """Students of these runs, by the order of their places."""

    @property
    def every(self) -> dict[str, Cohort]:
        """The rows that learn, then the controls."""
        return self.cohorts | self.controls

    @property
    def runs(self) -> list[Run]:
        """All runs, in the order of the tables."""
        return [run for cohort in self.every.values() for run in cohort.runs]

    def teacher_of(self, student: StudentRun) -> Run:
        """Return the run that taught a student: students of others are left out."""
        return next(run for run in self.runs if run.signature == student.taught_by)

    @property
    def budget(self) -> int:
        """Iterations of every run; 0 without runs."""
        return int(self.config["budget"]["iterations"]) if self.config else 0

    @property
    def top(self) -> int:
        """The highest level of the curriculum."""
        return int(self.config["curriculum"]["stop"]) if self.config else 5


def make_study(frames: Frames, budget: str | None = None, mix_code: bool = False) -> Study:
    """Choose the largest set of runs that differ in agent, encoder, permutation and seed only.

    Largest: most finished runs, then most runs, then the latest. Every other run is named with the
    reason why it stays out. `budget` looks at runs of that budget only; with `mix_code` runs of
    different code may be compared.
    """
    runs = sorted(frames.runs, key=lambda run: run.id)
    left_out = [*frames.unread]
    if budget is not None:
        names = sorted({str(run.config["budget"].get("name")) for run in runs})
        if budget not in names:
            raise unknown("budget", budget, names or ["none: there is no run yet"])
        others = [run for run in runs if str(run.config["budget"].get("name")) != budget]
        runs = _without(runs, others)
        left_out += [LeftOut(run.id, f"--budget {budget} asks for others") for run in others]
    chosen, others = _largest(runs, mix_code)
    left_out += [LeftOut(run.id, _difference(run, chosen[0], mix_code)) for run in others]
    kept, doubles = _once(chosen, {student.taught_at for student in frames.students})
    kept, unfit = _same_evaluation(kept)
    variants = {run.variant for run in kept}

    def cohorts(names: Iterable[str]) -> dict[str, Cohort]:
        found = {name: [run for run in kept if run.variant == name] for name in names}
        return {
            name: Cohort(row(name, runs[0] if runs else None), runs) for name, runs in found.items()
        }

    students, strangers = _pupils(frames.students, kept)
    left_out += strangers
    left_out += doubles + unfit + [LeftOut(run.id, run.remark) for run in kept if run.remark]
    return Study(
        cohorts(in_order(variants)),
        cohorts(name for name in CONTROLS if name in variants),
        sorted(left_out, key=lambda item: (item.id, item.reason)),
        kept[0].config if kept else None,
        sorted({f"{run.commit or 'unknown'}{'+' if run.dirty else ''}" for run in kept}),
        students,
    )


def shared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that runs of one table must share, by their dotted names."""
    free = {"agent", "encoder.name", "encoder.source", "permute", "seed"}
    return {name: value for name, value in _flat(decisive(config)) if name not in free}


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _largest(runs: list[Run], mix_code: bool) -> tuple[list[Run], list[Run]]:
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        settings = json.dumps(shared(run.config), sort_keys=True, default=str)
        groups.setdefault((settings, "" if mix_code else run.code), []).append(run)
    if not groups:
        return [], []

    def size(key: tuple[str, str]) -> tuple[int, int, str, tuple[str, str]]:
        members = groups[key]
        finished = sum(run.state == FINISHED for run in members)
        return finished, len(members), max(run.created for run in members), key

    chosen = groups[max(groups, key=size)]
    return chosen, _without(runs, chosen)


def _without(runs: list[Run], some: list[Run]) -> list[Run]:
    gone = {id(run) for run in some}
    return [run for run in runs if id(run) not in gone]


def _difference(run: Run, other: Run, mix_code: bool) -> str:
    said = _differences(_told(run.config), _told(other.config))
    if not mix_code and run.code != other.code:
        said.append(f"other code: {_commit(run)} instead of {_commit(other)}")
    return ", ".join(said)


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Add what cannot change a result, but is what people know runs by."""
    return shared(config) | {"budget.name": config["budget"].get("name")}


def _differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Name the first settings that differ."""
    names = sorted(n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n))
    names.sort(key=lambda name: name != "budget.name")
    said = [f"{n} = {_short(mine, n)} instead of {_short(theirs, n)}" for n in names[:SHOWN]]
    if len(names) > SHOWN:
        said.append(f"and {len(names) - SHOWN} more settings")
    return said


def _short(settings: Mapping[str, Any], name: str) -> str:
    text = str(settings.get(name))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _commit(run: Run) -> str:
    return (run.commit or "unknown")[:10] + (" with changes" if run.dirty else "")


def _once(runs: list[Run], teachers: set[str]) -> tuple[list[Run], list[LeftOut]]:
    """Count every variant and seed once: the most complete run, then a teacher, then the first."""

    def progress(run: Run) -> tuple[bool, bool, int, bool]:
        return run.state == FINISHED, run.evaluation is not None, run.iteration, run.id in teachers

    best: dict[tuple[str, int], Run] = {}
    for run in runs:
        key = run.variant, run.seed
        if key not in best or progress(run) > progress(best[key]):
            best[key] = run
    kept = sorted(best.values(), key=lambda run: (run.seed, run.id))
    doubles = [
        LeftOut(run.id, f"the same run as {best[run.variant, run.seed].id}, which is counted")
        for run in runs
        if run is not best[run.variant, run.seed]
    ]
    return kept, doubles


def _same_evaluation(runs: list[Run]) -> tuple[list[Run], list[LeftOut]]:
    """Drop evaluations of an unfinished policy, or with other episodes than most runs have."""

    def way(evaluation: Evaluation) -> str:
        return json.dumps(evaluation.settings, sort_keys=True)

    ways = Counter(way(run.evaluation) for run in runs if run.evaluation)
    usual = json.loads(max(ways, key=lambda key: (ways[key], key))) if ways else {}
    kept, dropped = [], []
    for run in runs:
        if run.evaluation and (reason := _objection(run, run.evaluation, usual)):
            dropped.append(LeftOut(run.id, f"only its evaluation, made with {reason}"))
            run = replace(run, evaluation=None, judging=LEFT_OUT)
        kept.append(run)
    return kept, dropped


def _objection(run: AnyRun, made: Evaluation, usual: Mapping[str, Any]) -> str:
    """Say what an evaluation was made with that others were not; empty if all are alike."""
    said = ", ".join(_differences(made.settings, usual))
    if not said and made.iteration != run.iteration:
        said = f"iteration {made.iteration} instead of {run.iteration}"
    return said


def _pupils(students: list[StudentRun], runs: list[Run]) -> tuple[list[StudentRun], list[LeftOut]]:
    """Keep the students of these runs; their rates only if judged by their teacher's episodes."""
    teachers = {run.signature: run for run in runs}
    kept, left_out = [], []
    for student in sorted(students, key=lambda student: student.id):
        teacher = teachers.get(student.taught_by)
        if teacher is None or not _taught(teacher, student):
            said = f"its teacher is not compared: {student.teacher}"
            if teacher is not None:
                said += f" of {student.taught_at}, but its like in {teacher.id}"
            left_out.append(LeftOut(student.id, said))
            continue
        mine, theirs = student.evaluation, teacher.evaluation
        reason = student.remark
        if mine and theirs:
            reason = _objection(student, mine, theirs.settings)
        if mine and reason:
            left_out.append(LeftOut(student.id, f"only its evaluation, made with {reason}"))
            student = replace(student, evaluation=None, judging=LEFT_OUT)
        elif reason:
            left_out.append(LeftOut(student.id, reason))
        kept.append(student)
    return kept, left_out


def _taught(run: Run, student: StudentRun) -> bool:
    """Tell whether a run taught a student: by its place, or by its checkpoint if it was moved.

    Equal settings are not enough: the code may differ. An archive has smaller checkpoints, so that
    another sum proves nothing.
    """
    checkpoint = student.config["taught_by"].get("checkpoint")
    moved = bool(checkpoint) and run.checkpoint == checkpoint
    return moved or f"/{run.id}".endswith(f"/{student.taught_at}")


def require_runs(study: Study, where: str) -> None:
    """Stop with one line where there is nothing to show."""
    if study.config is None:
        raise UserError(
            f"{where} has no run that can be read"
            + "".join(f"; {item.id}: {item.reason}" for item in study.left_out[:3])
            + "; start some: python -m s2m.launch -m +sweep=demo"
        )
