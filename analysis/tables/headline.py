"""Table 1: all encoders at one budget. Table 2: the 2 x 2 of encoder and slot permutation."""

import statistics
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.cohort import ETA, Cohort
from analysis.rows import GROUP_TEX, GROUP_TEXT
from analysis.stats import survival
from analysis.study import Study
from analysis.tables import formats
from analysis.tables.model import Cell, Line, Table, column, escape, missing, plain
from s2m.run.rates import wilson

LEVELS = (3, 5)
FIRST = 5
"""The column of the first of these in Table 1; success rates follow."""
READING = (
    "Several seeds: mean of the iterations (a run that never arrives counts its budget: ≥) and of "
    "the rates; in round brackets the range over seeds (> where a run never arrived) and how many "
    "arrived. One seed: its value; in square brackets the 95% Wilson interval over its episodes. A "
    "count behind a rate: how many of the finished runs were evaluated, where not all were."
)
COUNTED = (
    "Only finished runs count; failed ones are neither a success nor a failure to reach a level."
)


def group(cohort: Cohort) -> Cell:
    """Return the cell of the symmetry group."""
    name = cohort.row.group
    return Cell(GROUP_TEXT[name], GROUP_TEX[name]) if name in GROUP_TEXT else plain(name)


def permuted(cohort: Cohort) -> Cell:
    """Return whether slots are permuted, which controls do not see."""
    if cohort.row.is_control:
        return plain("–")
    return plain("T" if cohort.row.permute else "F")


def reached(cohort: Cohort, top: int) -> Cell:
    """Return the cell of K_max."""
    levels = cohort.levels()
    return formats.level(levels, top) if levels else missing(cohort.missing)


def advance(cohort: Cohort, k: int, budget: int) -> Cell:
    """Return the cell of the iterations to k balls."""
    times = cohort.times(k)
    return formats.advancement(times, budget) if times else missing(cohort.missing)


def success(cohort: Cohort, k: int, metric: str) -> Cell:
    """Return the cell of a success rate."""
    counts = cohort.counts(k, metric)
    return formats.rate(counts, len(cohort.finished)) if counts else missing(cohort.unjudged)


def mastered(cohort: Cohort, top: int) -> Cell:
    """Return the cell of K_eta."""
    values = cohort.mastered(top)
    if not values:
        return missing(cohort.unjudged)
    return formats.level(values, finished=len(cohort.finished))


def progress(cohort: Cohort) -> Cell:
    """Return how many runs are finished and where the others stand."""
    done, _, rest = cohort.progress.partition(", ")
    return Cell(cohort.progress, done, escape(rest))


def names(cohort: Cohort) -> list[str]:
    """Return the runs behind a row."""
    return [run.id for run in cohort.finished]


def _label(cohort: Cohort, study: Study) -> Cell:
    """Mark an encoder that every finished run brought to the top without permutation."""
    levels = cohort.levels()
    if not cohort.row.permute and levels and min(levels) >= study.top:
        return Cell(cohort.row.label + " †", cohort.row.tex + r"$^\dagger$")
    return Cell(cohort.row.label, cohort.row.tex)


def encoders(study: Study) -> Table:
    """Return the comparison of all variants."""
    top, budget = study.top, study.budget
    lines = [
        Line(
            [
                _label(cohort, study), group(cohort), permuted(cohort),
                reached(cohort, top), mastered(cohort, top),
                *(advance(cohort, k, budget) for k in LEVELS),
                success(cohort, top, "strict"), success(cohort, top, "no_drop"),
                progress(cohort),
            ],
            names(cohort),
            rule=i == len(study.cohorts),
        )
        for i, cohort in enumerate(study.every.values())
    ]  # fmt: skip
    lines = _embolden(lines, study)
    dagger = any("†" in line.cells[0].text for line in lines)
    return Table(
        "encoders",
        "Encoders",
        f"Teacher encoders at an equal PPO budget ({budget:,} iterations). K_max: highest "
        f"curriculum level reached; K_η: most balls with a no-drop rate of at least {ETA:.0%}. "
        "Adv. to k: iterations to first have that many balls; — = not within the budget. "
        f"Strict and no-drop: success rates with {top} balls.",
        [
            column("Encoder", align="l"), column("Inv."), column("perm"),
            column("K_max", r"$K_{\max}$"), column("K_η", r"$K_\eta$"),
            *(column(f"Adv. to {k}", rf"Adv.\ to {k}") for k in LEVELS),
            column("strict"), column("no-drop"), column("runs"),
        ],
        lines,
        notes=[
            READING,
            COUNTED,
            *_judged(study),
            *([f"† every run reaches {top} balls without slot permutation."] if dagger else []),
        ],
        records=[_record(cohort, study) for cohort in study.every.values()],
    )  # fmt: skip


def _embolden(lines: list[Line], study: Study) -> list[Line]:
    """Mark the earliest arrivals and the highest rates among the rows that learn."""
    rows = list(study.cohorts.values())
    if len(rows) < 2:
        return lines
    scores: list[list[float | None]] = []
    for cohort in rows:
        times = [cohort.times(k) for k in LEVELS]
        early = [-survival.restricted_mean(t, study.budget) if t else None for t in times]
        early = [
            None if not any(x.reached for x in t) else e for t, e in zip(times, early, strict=True)
        ]
        rates = [[c.rate for c in cohort.counts(study.top, m)] for m in ("strict", "no_drop")]
        scores.append([*early, *(statistics.fmean(r) if r else None for r in rates)])
    for j, values in enumerate(zip(*scores, strict=True)):
        known = [value for value in values if value is not None]
        for i, value in enumerate(values):
            if len(known) > 1 and value is not None and value >= max(known) - 1e-9:
                cells = list(lines[i].cells)
                cells[FIRST + j] = replace(cells[FIRST + j], best=True)
                lines[i] = replace(lines[i], cells=cells)
    return lines


def _judged(study: Study) -> list[str]:
    """Say how the policies were evaluated."""
    settings = next((run.evaluation.settings for run in study.runs if run.evaluation), None)
    if settings is None:
        return []
    kept = {name: value for name, value in settings.items() if not name.startswith("selection")}
    said = "; ".join(f"{name} {str(value).strip('[]')}" for name, value in kept.items())
    return [f"Evaluation: {said}.".replace("_", " ")]


def _record(cohort: Cohort, study: Study) -> dict[str, Any]:
    levels, best = cohort.levels(), cohort.mastered(study.top)
    record: dict[str, Any] = {
        "variant": cohort.row.variant,
        "group": cohort.row.group,
        "permute": cohort.row.permute,
        "planned": len(cohort.runs),
        "finished": len(cohort.finished),
        "evaluated": len(cohort.evaluated),
        "state": cohort.progress,
        "k_max_min": min(levels, default=None),
        "k_max_median": statistics.median_low(levels) if levels else None,
        "k_max_max": max(levels, default=None),
        "k_eta_min": min(best, default=None),
        "k_eta_median": statistics.median_low(best) if best else None,
        "k_eta_max": max(best, default=None),
    }
    for k in LEVELS:
        times = cohort.times(k)
        arrived = [time.iteration for time in times if time.reached]
        record |= {
            f"reached_{k}": len(arrived) if times else None,
            f"advance_{k}_km_median": survival.median(times) if times else None,
            f"advance_{k}_min": min(arrived, default=None),
            f"advance_{k}_max": max(arrived, default=None),
            f"advance_{k}_restricted_mean": survival.restricted_mean(times, study.budget)
            if times
            else None,
        }
    for metric in ("strict", "no_drop"):
        rates = [count.rate for count in cohort.counts(study.top, metric)]
        pooled = cohort.pooled(study.top, metric)
        low, high = wilson(pooled) if pooled.n else (None, None)
        record |= {
            f"{metric}_seeds": len(rates),
            f"{metric}_seed_min": min(rates, default=None),
            f"{metric}_seed_mean": float(np.mean(rates)) if rates else None,
            f"{metric}_seed_median": float(np.median(rates)) if rates else None,
            f"{metric}_seed_max": max(rates, default=None),
            f"{metric}_episodes": pooled.n,
            f"{metric}_hits": pooled.hits,
            f"{metric}_episode_wilson_low": low,
            f"{metric}_episode_wilson_high": high,
        }
    return record | {"runs": " ".join(names(cohort))}


def ablation(study: Study) -> Table | None:
    """Return the 2 x 2 of two settings, of encoder and slot permutation in the paper's shape."""
    square = study.square
    if square is None:
        return None
    lines, records = [], []
    for word, pair in zip(square.first.words, square.cells, strict=True):
        cells = [
            cell
            for cohort in pair
            for cell in (
                reached(cohort, study.top),
                *(advance(cohort, k, study.budget) for k in LEVELS),
            )
        ]
        label = plain(word)
        if square.first.name == "encoder":
            inv, row = group(pair[0]), pair[0].row
            tex = row.tex.replace(r"\_OFF", "")
            label = Cell(f"{word} ({inv.text})", f"{tex} ({inv.tex})")
        lines.append(Line([label, *cells], [name for cohort in pair for name in names(cohort)]))
        records += [_record(cohort, study) for cohort in pair]
    half = [
        column("K_max", r"$K_{\max}$"),
        *(column(f"Adv. to {k}", rf"Adv.\ to {k}") for k in LEVELS),
    ]
    barred = [*half[:-1], replace(half[-1], bar=True)]
    what = (
        "Encoder × per-step slot permutation"
        if square.of_encoders
        else (f"{square.first.name} × {square.second.name}")
    )
    return Table(
        "ablation",
        "2 × 2 ablation",
        f"{what}. Adv. to k: iterations at which the curriculum first "
        f"has k balls or more; — = not by {study.budget:,} iterations.",
        [column("Encoder" if square.of_encoders else square.first.name, align="l"), *barred, *half],
        lines,
        spans=[(plain(""), 1), *((plain(head), 3) for head in square.second.heads)],
        notes=[READING],
        records=records,
        label="tab:perm_ablation" if square.of_encoders else "",
    )
