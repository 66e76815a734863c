"""The tactile students beside their teachers."""

import json
from collections.abc import Sequence
from typing import Any

from analysis.frames import AnyRun, KRates, Run, StudentRun
from analysis.paper import published
from analysis.stats.proportions import Pairs, newcombe, newcombe_paired
from analysis.stats.resampling import crossed
from analysis.study import Study
from analysis.tables import formats
from analysis.tables.estimates import outcomes
from analysis.tables.model import Cell, Line, Table, column, missing, plain, stacked
from analysis.teacher import choose
from s2m.run.identity import decisive
from s2m.run.rates import Count, Interval, wilson


def tactset(study: Study) -> Table | None:
    """Return success rates of every student and of its teacher from the same starts."""
    if not study.students:
        return None
    balls = range(1, study.top + 1)
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for teacher, students in _classes(study):
        lines.append(
            Line(
                [plain(f"teacher {teacher.name}"), *_rates(teacher, balls)],
                [teacher.id], rule=bool(lines),
            )
        )  # fmt: skip
        for student in students:
            lines += _compared(student, teacher, balls)
            records += _records(student, teacher)
        for alike in _seeds(students):
            lines += _over_seeds(alike, teacher, balls)
    return Table(
        "tactset",
        "TactSet",
        "The tactile student and its teacher from the same starts: no-drop success with its 95% "
        "Wilson interval, then strict success; below, the difference with Newcombe's interval, and "
        "what the student carried before it first drove (round 0, other and fewer episodes). "
        "“Mean”: several seeds of one student, with 95% intervals over drawn seeds and starts.",
        [column("Policy", align="l"), *(column(f"k={k}", f"$k{{=}}{k}$") for k in balls)],
        [*lines, *_published(balls)],
        notes=_notes(study),
        records=records,
    )


def _classes(study: Study) -> list[tuple[Run, list[StudentRun]]]:
    """Return every teacher with its students, in the order of the first of these."""
    found: dict[str, tuple[Run, list[StudentRun]]] = {}
    for student in study.students:
        teacher = study.teacher_of(student)
        found.setdefault(teacher.id, (teacher, []))[1].append(student)
    return list(found.values())


def _seeds(students: Sequence[StudentRun]) -> list[list[StudentRun]]:
    """Return the evaluated students that differ in the seed only, where there are several."""
    found: dict[str, list[StudentRun]] = {}
    for student in students:
        settings = {k: v for k, v in decisive(student.config).items() if k != "seed"}
        key = json.dumps(settings, sort_keys=True, default=str)
        if student.evaluation is not None:
            found.setdefault(key, []).append(student)
    return [alike for alike in found.values() if len(alike) > 1]


def _compared(student: StudentRun, teacher: Run, balls: range) -> list[Line]:
    """Return the lines of one student."""
    return [
        Line([plain(f"student {student.name}"), *_rates(student, balls)], [student.id]),
        Line(
            [plain("no-drop, student − teacher (pp)"), *_differences(student, teacher, balls)],
            [student.id, teacher.id],
        ),
        Line([plain("behaviour cloning only"), *_cloned(student, balls)], [student.id]),
    ]


def _over_seeds(students: Sequence[StudentRun], teacher: Run, balls: range) -> list[Line]:
    """Return the mean of several students of one teacher, and its difference from the teacher."""
    names, means, gaps = [student.id for student in students], [], []
    for k in balls:
        mine, theirs = outcomes(students, k), outcomes([teacher], k)
        if mine is None:
            means.append(missing("not comparable"))
        else:
            found = crossed([mine[1]], [1])
            means.append(stacked(formats.percent(found.value), formats.bracket(found.interval)))
        if mine is None or theirs is None or mine[0] != theirs[0]:
            gaps.append(missing("not comparable"))
        else:
            gaps.append(
                formats.signed(*crossed([mine[1], theirs[1]]), bound=1, scale=100, digits=0)
            )
    return [
        Line([plain(f"mean of {len(students)} students, no-drop"), *means], names),
        Line([plain("mean − teacher (pp)"), *gaps], [*names, teacher.id]),
    ]


def _rates(run: AnyRun, balls: range) -> list[Cell]:
    cells = []
    for k in balls:
        if k not in run.rates:
            cells.append(missing(run.missing))
            continue
        kept, strict = run.rates[k].count("no_drop"), run.rates[k].count("strict")
        detail = f"{formats.bracket(wilson(kept))}, strict {formats.percent(strict.rate).text}"
        cells.append(stacked(formats.percent(kept.rate), detail))
    return cells


def _count_cloned(student: StudentRun, k: int) -> Count | None:
    """Return the successes of the student that has only seen its teacher drive."""
    if not student.rounds or k not in student.rounds[0]:
        return None
    n = int(student.config["distill"]["round_episodes"])
    return Count(round(student.rounds[0][k] * n), n)


def _cloned(student: StudentRun, balls: range) -> list[Cell]:
    cells = []
    for k in balls:
        kept = _count_cloned(student, k)
        if kept is None:
            cells.append(missing(student.missing))
        else:
            cells.append(stacked(formats.percent(kept.rate), formats.bracket(wilson(kept))))
    return cells


def _differences(student: StudentRun, teacher: Run, balls: range) -> list[Cell]:
    cells = []
    for k in balls:
        found = _difference(student, teacher, k)
        if found is None:
            lacking = student if student.evaluation is None else teacher
            cells.append(missing(lacking.missing))
        else:
            cells.append(formats.signed(*found, bound=1, scale=100, digits=0))
    return cells


def _difference(student: StudentRun, teacher: Run, k: int) -> tuple[float, Interval] | None:
    mine, theirs = student.rates, teacher.rates
    if k not in mine or k not in theirs:
        return None
    pairs = _pairs(mine[k], theirs[k])
    if pairs is not None:
        return newcombe_paired(pairs)
    return newcombe(mine[k].count("no_drop"), theirs[k].count("no_drop"))


def _pairs(mine: KRates, theirs: KRates) -> Pairs | None:
    """Count who carried the balls from each start; None if the starts are not the same."""
    if not mine.starts or mine.starts != theirs.starts:
        return None
    found = list(zip(mine.kept, theirs.kept, strict=True))
    return Pairs(*(found.count(outcome) for outcome in ((1, 1), (1, 0), (0, 1), (0, 0))))


def _paired(student: StudentRun, teacher: Run) -> bool | None:
    """Tell whether all differences are of pairs; None without any."""
    mine, theirs = student.rates, teacher.rates
    found = [_pairs(mine[k], theirs[k]) is not None for k in mine.keys() & theirs.keys()]
    return all(found) if found else None


def _published(balls: range) -> list[Line]:
    theirs = published()
    rows = {
        "paper: PFDS": {5: theirs["encoders"]["pfds"]},
        "paper: TactSet": theirs["tactset"],
    }
    lines = []
    for name, rates in rows.items():
        cells = [
            stacked(formats.percent(rates[k]["no_drop"] / 100), f"strict {rates[k]['strict']}%")
            if k in rates else formats.NOT_REACHED
            for k in balls
        ]  # fmt: skip
        lines.append(Line([plain(name), *cells], rule=not lines))
    return lines


def _notes(study: Study) -> list[str]:
    notes = ["The paper gives k = 1 and 5 only; 100 episodes each, robot and simulator differ."]
    paired = [_paired(student, study.teacher_of(student)) for student in study.students]
    if True in paired:
        notes.append(
            "The intervals of differences are Newcombe's for pairs: both policies were judged from "
            "the same starts."
        )
    choice = choose(study)
    for student, known in zip(study.students, paired, strict=True):
        if known is False:
            notes.append(
                f"The episodes of {student.name} cannot be paired with its teacher's: the "
                "intervals of its differences are Newcombe's for independent ones."
            )
        if choice is not None and student.taught_by != choice.best.run.signature:
            notes.append(
                f"{student.name} was not distilled from the best teacher, {choice.best.run.name}, "
                f"but from {student.teacher}: the choice was overridden, or made with other runs."
            )
        if student.reason:
            notes.append(f"{student.name} failed: {student.reason}.")
    return notes


def _records(student: StudentRun, teacher: Run) -> list[dict[str, Any]]:
    records = []
    for k, mine in sorted(student.rates.items()):
        found = _difference(student, teacher, k)
        theirs = teacher.rates.get(k)
        record: dict[str, Any] = {
            "student": student.id, "teacher": teacher.id, "k": k, "episodes": mine.n
        }  # fmt: skip
        for metric in ("no_drop", "strict"):
            count = mine.count(metric)
            low, high = wilson(count)
            record |= {metric: count.rate, f"{metric}_low": low, f"{metric}_high": high}
            record[f"teacher_{metric}"] = theirs.count(metric).rate if theirs else None
        low, high = found[1] if found else (None, None)
        record |= {"difference": found[0] if found else None}
        record |= {"difference_low": low, "difference_high": high}
        record["paired"] = _pairs(mine, theirs) is not None if theirs else None
        cloned = _count_cloned(student, k)
        record |= {
            "cloned_episodes": cloned.n if cloned else None,
            "cloned_no_drop": cloned.rate if cloned else None,
        }
        records.append(record)
    return records
