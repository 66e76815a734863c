"""Runs one by one: the seeds of PFDS with their summary, and every run of the study."""

import statistics
from collections.abc import Sequence
from typing import Any

from analysis.cohort import Cohort
from analysis.frames import Run
from analysis.stats.survival import range_coverage
from analysis.study import Study
from analysis.tables import formats
from analysis.tables import headline as cells
from analysis.tables.model import Cell, Line, Table, column, missing, plain, stacked
from s2m.run.rates import wilson
from s2m.run.status import FINISHED

LEVELS = (2, 3, 4, 5)


def _word(run: Run) -> Cell | None:
    return None if run.state == FINISHED else missing(run.state)


def _began(run: Run, k: int, budget: int) -> Cell:
    at = run.began(k)
    if at is not None:
        return formats.iterations(at, budget)
    return _word(run) or formats.NOT_REACHED


def _rate(run: Run, k: int, metric: str) -> Cell:
    if k in run.rates:
        return formats.rate([run.rates[k].count(metric)])
    return missing(run.missing)


def _level(run: Run) -> Cell:
    if run.state == FINISHED:
        return plain(run.level)
    if run.iteration == 0:
        return missing(run.state)
    return stacked(plain(run.level), f"({run.state})")


def _line(run: Run, study: Study, head: Sequence[Cell]) -> Line:
    return Line(
        [
            *head,
            _level(run),
            *(_began(run, k, study.budget) for k in LEVELS),
            _rate(run, study.top, "strict"),
            _rate(run, study.top, "no_drop"),
        ],
        [run.id],
    )  # fmt: skip


def _columns(*head):
    return [
        *head, column("K_max", r"$K_{\max}$"),
        *(column(f"Adv. to {k}", rf"Adv.\ to {k}") for k in LEVELS),
        column("strict"), column("no-drop"),
    ]  # fmt: skip


def seeds(study: Study) -> Table:
    """Return the seeds of the baseline, of the paper's rows PFDS, with mean and range."""
    cohort = study.baseline
    lines = [_line(run, study, [plain(run.seed)]) for run in cohort.runs]
    if not lines:
        empty = missing(cohort.missing)
        lines = [Line([plain("—"), *[empty] * (len(LEVELS) + 3)])]
    elif len(cohort.finished) > 1:
        lines.append(_summary(cohort, study))
    n = len(cohort.finished)
    notes = [cells.READING]
    if n > 1:
        notes.append(
            f"The range over {n} seeds holds the median of all seeds with "
            f"{range_coverage(n):.1%} confidence, whatever their distribution."
        )
    return Table(
        "seeds",
        f"Seeds of {cohort.row.label}",
        f"Runs of {cohort.row.label} that differ in the seed only.",
        _columns(column("seed")),
        lines,
        notes=notes,
        records=[_record(run, study) for run in cohort.runs],
    )


def learning(study: Study) -> Table:
    """Return minutes and samples until each level began, for the seeds of the baseline."""
    cohort = study.baseline
    budget = study.config["budget"] if study.config else {}
    per_iteration = budget.get("num_envs", 0) * budget.get("steps", 0)

    def span(run: Run, at: int | None) -> Cell:
        if at is None:
            return _word(run) or formats.NOT_REACHED
        seconds, samples = run.elapsed(at), at * per_iteration / 1e6
        spent = "" if seconds is None else f"{seconds / 60:.1f} min, "
        return plain(f"{spent}{samples:.2f} M")

    return Table(
        "learning",
        f"Speed of {cohort.row.label}",
        f"Wall clock and samples of {cohort.row.label} until each number of balls was reached, and "
        "of the whole budget.",
        [column("seed"), *(column(f"k={k}", f"$k{{=}}{k}$") for k in LEVELS), column("budget")],
        [
            Line(
                [
                    plain(run.seed),
                    *(span(run, run.began(k)) for k in LEVELS),
                    _word(run) or span(run, run.iteration),
                ],
                [run.id],
            )
            for run in cohort.runs
        ]
        or [Line([plain("—"), *[missing(cohort.missing)] * (len(LEVELS) + 1)])],
        notes=["Times depend on the machine and on what else ran on it."],
        records=[_record(run, study) for run in cohort.runs],
    )


def _summary(cohort: Cohort, study: Study) -> Line:
    return Line(
        [
            plain("all"),
            cells.reached(cohort, study.top),
            *(cells.advance(cohort, k, study.budget) for k in LEVELS),
            cells.success(cohort, study.top, "strict"),
            cells.success(cohort, study.top, "no_drop"),
        ],
        cells.names(cohort),
        rule=True,
    )


def runs(study: Study) -> Table:
    """Return every run that is compared."""
    return Table(
        "runs",
        "All runs",
        "Every run of this study; rates with their 95% Wilson interval over episodes.",
        _columns(column("Encoder", align="l"), column("seed")),
        [
            _line(run, study, [Cell(cohort.row.label, cohort.row.tex), plain(run.seed)])
            for cohort in study.every.values()
            for run in cohort.runs
        ],
        records=[_record(run, study) for run in study.runs],
    )


def _record(run: Run, study: Study) -> dict[str, Any]:
    record: dict[str, Any] = {
        "run": run.id, "variant": run.variant, "seed": run.seed, "state": run.state,
        "reason": run.reason, "iteration": run.iteration, "k_max": run.level,
        "commit": run.commit, "dirty": run.dirty,
    }  # fmt: skip
    budget = run.config["budget"]
    samples = budget["num_envs"] * budget["steps"]
    for k in LEVELS:
        at = run.began(k)
        record[f"advance_{k}"] = at
        record[f"samples_{k}"] = None if at is None else at * samples
        record[f"seconds_{k}"] = None if at is None else run.elapsed(at)
    record["seconds"] = run.seconds
    for k in range(1, 6):
        rates = run.rates.get(k)
        for metric in ("strict", "no_drop"):
            count = rates.count(metric) if rates else None
            low, high = wilson(count) if count else (None, None)
            record |= {
                f"{metric}_{k}": count.rate if count else None,
                f"{metric}_{k}_low": low,
                f"{metric}_{k}_high": high,
            }
        record[f"episodes_{k}"] = rates.n if rates else None
    return record


def rates(study: Study) -> Table:
    """Return success rates for every number of balls."""
    balls = range(1, study.top + 1)
    lines = []
    for cohort in study.every.values():
        row = []
        for k in balls:
            pair = [cohort.counts(k, metric) for metric in ("no_drop", "strict")]
            if not pair[0]:
                row.append(missing(cohort.unjudged))
                continue
            middle = [formats.short(100 * statistics.fmean(c.rate for c in p)) for p in pair]
            row.append(plain(" / ".join(middle)))
        runs = [run.id for run in cohort.evaluated]
        lines.append(Line([Cell(cohort.row.label, cohort.row.tex), *row, plain(len(runs))], runs))
    return Table(
        "rates",
        "Success rates",
        "No-drop / strict success rates in % for 1 to 5 balls; several seeds: their mean.",
        [
            column("Encoder", align="l"),
            *(column(f"k={k}", f"$k{{=}}{k}$") for k in balls),
            column("runs"),
        ],
        lines,
        records=_per_k(study),
    )


def _per_k(study: Study) -> list[dict[str, Any]]:
    records = []
    for run in study.runs:
        for k, found in sorted(run.rates.items()):
            record: dict[str, Any] = {"run": run.id, "variant": run.variant, "seed": run.seed}
            record |= {"k": k, "episodes": found.n}
            for metric in ("strict", "no_drop"):
                count = found.count(metric)
                low, high = wilson(count)
                record |= {metric: count.hits, f"{metric}_low": low, f"{metric}_high": high}
            record |= {
                name: getattr(found, name)
                for name in ("dropped", "fell", "unstable", "steps", "linear_error", "yaw_error",
                             "minimum_margin")
            }  # fmt: skip
            records.append(record)
    return records
