"""Which runs are compared with each other: same settings, same code, every seed once."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.choosing import (
    VARIANT,
    alike,
    difference,
    differences,
    hint,
    largest,
    once,
    without,
)
from analysis.cohort import Cohort
from analysis.conditions import refusals
from analysis.dotted import defaults, settings
from analysis.frames import LEFT_OUT, AnyRun, Evaluation, Frames, LeftOut, Run, StudentRun
from analysis.measure import Metric
from analysis.rows import (
    CONTROLS,
    PAPER,
    Row,
    in_order,
    row,
    split,
    variant_rows,
)
from analysis.square import Square, factorial, names_of, paper_square
from s2m.console.errors import UserError, unknown
from s2m.run.settings import same


@dataclass(frozen=True)
class Asked:
    """Which rows somebody wants to see, and of what."""

    by: Sequence[str] = ()
    """Settings, or sections of them, that make the rows; without any, encoder and permutation."""
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    """Conditions that all runs must meet, and that none may (analysis/conditions.py)."""
    baseline: str = ""
    """The row that others are compared with: its label, its name, or a part of either."""
    factorial: Sequence[str] = ()
    """Two settings of a 2 x 2."""
    paper: bool = False
    """Show all eight rows of the paper, launched or not."""
    metrics: Sequence[Metric] = ()
    """What else to compare the rows by."""


@dataclass(frozen=True)
class Study:
    """The runs that may share a table."""

    cohorts: dict[str, Cohort]
    """By name: those of the paper in its order, then any others; or the rows of --by."""
    controls: dict[str, Cohort]
    """Those that act without learning, where there are runs of them."""
    left_out: list[LeftOut]
    config: Mapping[str, Any] | None
    """The settings all runs share, with those of one of them where rows differ."""
    commits: list[str] = field(default_factory=list)
    students: list[StudentRun] = field(default_factory=list)
    """Students of these runs, by the order of their places."""
    against: str = ""
    """Name of the row that others are compared with."""
    square: Square | None = None
    """The 2 x 2, where there is one."""
    asked: Asked = field(default_factory=Asked)
    hint: str = ""
    """How to show runs that were left out as rows of their own."""

    @property
    def every(self) -> dict[str, Cohort]:
        """The rows that learn, then the controls."""
        return self.cohorts | self.controls

    @property
    def baseline(self) -> Cohort:
        """The row that others are compared with."""
        return self.cohorts[self.against] if self.cohorts else Cohort(row(PAPER[-1]), [])

    @property
    def runs(self) -> list[Run]:
        """All runs, in the order of the tables."""
        return [run for cohort in self.every.values() for run in cohort.runs]

    def teacher_of(self, student: StudentRun) -> Run:
        """Return the run that taught a student: students of others are left out."""
        return next(run for run in self.runs if run.signature == student.taught_by)

    @property
    def budget(self) -> int:
        """Iterations that a run may spend at most; 0 without runs."""
        return max((run.budget for run in self.runs), default=0)

    @property
    def top(self) -> int:
        """The highest level of the curriculum."""
        stops = [int(run.config["curriculum"]["stop"]) for run in self.runs]
        return max(stops, default=5)

    @property
    def of_paper(self) -> bool:
        """Whether its rows are encoders with and without permutation, as the paper's."""
        return bool({*PAPER} & {*self.cohorts})


def make_study(
    frames: Frames,
    budget: str | None = None,
    mix_code: bool = False,
    asked: Asked = Asked(),  # noqa: B008 (it is frozen)
) -> Study:
    """Choose the runs that may be compared, and make rows of them.

    Without --by the largest set that differs in agent, encoder, permutation and seed only: most
    finished runs, then most runs; every other run is named with the reason why it stays out. With
    it, runs that differ in more are refused. `budget` looks at runs of that budget only; with
    `mix_code` runs of different code may be compared.
    """
    runs = sorted(frames.runs, key=lambda run: run.id)
    left_out = [*frames.unread]
    if budget is not None:
        names = sorted({str(run.config["budget"].get("name")) for run in runs})
        if budget not in names:
            raise unknown("budget", budget, names or ["none: there is no run yet"])
        others = [run for run in runs if str(run.config["budget"].get("name")) != budget]
        runs = without(runs, others)
        left_out += [LeftOut(run.id, f"--budget {budget} asks for others") for run in others]
    if asked.only or asked.exclude:
        said = refusals([(run, settings(run)) for run in runs], asked.only, asked.exclude)
        left_out += [LeftOut(name, reason) for name, reason in said.items()]
        runs = [run for run in runs if run.id not in said]
        if not runs:
            raise UserError(f"no run is left after {_typed(asked)}")
    by = _rows_by(asked)
    chosen, others = alike(runs, by, mix_code) if by else largest(runs, mix_code)
    left_out += [LeftOut(run.id, difference(run, chosen[0], mix_code)) for run in others]
    learning = [run for run in chosen if run.variant not in CONTROLS]
    if by and learning:
        made = split(learning, by)
    else:
        variants = {run.variant for run in learning}
        made = variant_rows(learning, in_order({*variants, *(PAPER if asked.paper else ())}))
    acting = [run for run in chosen if run.variant in CONTROLS]
    other = variant_rows(acting, [n for n in CONTROLS if n in {run.variant for run in acting}])
    kept, doubles = once({**made, **other}, {student.taught_at for student in frames.students})
    kept, unfit = _same_evaluation(kept)

    def cohorts(rows: Mapping[str, tuple[Row, list[Run]]]) -> dict[str, Cohort]:
        place = {run.id: name for name, (_, members) in rows.items() for run in members}
        found: dict[str, list[Run]] = {name: [] for name in rows}
        for run in kept:
            if run.id in place:
                found[place[run.id]].append(run)
        return {name: Cohort(rows[name][0], members) for name, members in found.items()}

    students, strangers = _pupils(frames.students, kept)
    left_out += strangers
    left_out += doubles + unfit + [LeftOut(run.id, run.remark) for run in kept if run.remark]
    rows = cohorts(made)
    return Study(
        rows,
        cohorts(other),
        sorted(left_out, key=lambda item: (item.id, item.reason)),
        kept[0].config if kept else None,
        sorted({f"{run.commit or 'unknown'}{'+' if run.dirty else ''}" for run in kept}),
        students,
        _against(rows, asked.baseline),
        _square(rows, asked),
        asked,
        "" if by else hint(chosen, others),
    )


def _typed(asked: Asked) -> str:
    return " ".join(
        [*(f"--only {c}" for c in asked.only), *(f"--exclude {c}" for c in asked.exclude)]
    )


def _rows_by(asked: Asked) -> list[str]:
    """Return the settings that make the rows; none means encoder and permutation."""
    names = names_of(asked.factorial)
    if not asked.by:
        return [] if set(names) <= {*VARIANT} else names
    if lacking := [name for name in names if name not in asked.by]:
        raise UserError(
            f"--factorial {' '.join(asked.factorial)}: rows are made by {', '.join(asked.by)}; "
            f"add it: --by {' '.join([*asked.by, *lacking])}"
        )
    return [*asked.by]


def _square(cohorts: Mapping[str, Cohort], asked: Asked) -> Square | None:
    if asked.factorial:
        return factorial(list(cohorts.values()), asked.factorial)
    return None if asked.by else paper_square(cohorts, asked.paper)


def _against(cohorts: Mapping[str, Cohort], wanted: str) -> str:
    """Return the name of the baseline: the row that is asked for, or the nearest to defaults."""
    if wanted:
        names = {name: (name, cohort.row.label) for name, cohort in cohorts.items()}
        found = [name for name, known in names.items() if wanted in known]
        found = found or [n for n, known in names.items() if any(wanted in text for text in known)]
        if len(found) != 1:
            raise unknown("baseline", wanted, [cohort.row.label for cohort in cohorts.values()])
        return found[0]
    usual = defaults()

    def apart(name: str) -> int:
        if not cohorts[name].runs:
            return len(usual)
        mine = settings(cohorts[name].runs[0])
        return sum(same(mine.get(key)) != same(usual[key]) for key in usual if key != "seed")

    return min(cohorts, key=apart, default="")


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
    said = ", ".join(differences(made.settings, usual))
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
