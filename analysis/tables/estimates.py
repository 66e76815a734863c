"""Every row against the baseline by one number per run, with seeds as units; and its power."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.cohort import Cohort
from analysis.frames import AnyRun
from analysis.measure import PRIMARY, Metric
from analysis.stats.contrasts import contrast, holm
from analysis.stats.resampling import Estimate, crossed, improvement, stratified
from analysis.stats.units import equivalence, permutation, power, welch
from analysis.study import Study
from analysis.tables.formats import p_value, percent, short, signed
from analysis.tables.headline import names
from analysis.tables.model import Cell, Line, Table, column, missing, plain, stacked
from s2m.run.rates import Interval

METRIC = PRIMARY.column
"""The primary metric, at the top level."""
MARGIN = 0.05
"""Rates closer than this count as the same in practice."""
SEEDS = (3, 5, 6, 8, 10, 15, 20)
ALPHA = 0.05


def outcomes(runs: Sequence[AnyRun], k: int) -> tuple[str, np.ndarray] | None:
    """Return a digest of the starts and who kept the balls (seeds, starts); None if they differ."""
    found = [run.rates[k] for run in runs if k in run.rates]
    if not found or not found[0].starts or len({rates.starts for rates in found}) > 1:
        return None
    kept = np.array([np.frombuffer(rates.kept, dtype=np.uint8) for rates in found])
    return found[0].starts, kept


def difference(cells: Sequence[Cohort], weights: Sequence[float], k: int) -> Estimate:
    """Return a weighted sum of mean no-drop rates, over drawn seeds and starts.

    Where policies were not judged from the same starts, with Welch's interval over seeds. One run
    has no spread: then the interval is unbounded.
    """
    rates = [[count.rate for count in cell.counts(k, METRIC)] for cell in cells]
    kept = [found for cell in cells if (found := outcomes(cell.evaluated, k)) is not None]
    same = len(kept) == len(cells) and len({starts for starts, _ in kept}) == 1
    if same and all(len(rate) > 1 for rate in rates):
        return crossed([found for _, found in kept], weights)
    found = contrast(rates, weights)
    return Estimate(found.value, found.interval)


def significance(cells: Sequence[Sequence[float]], weights: Sequence[float]) -> float | None:
    """Return the p-value of a weighted sum of means: by permutation of two cells, else Welch's."""
    if any(len(cell) < 2 for cell in cells):
        return None
    return permutation(*cells) if len(cells) == 2 else welch(cells, weights)


def correct(records: Sequence[dict[str, Any]], name: str, planned: int) -> None:
    """Add what Holm makes of the p-values of a family, of which some may not be there yet."""
    tested = [record for record in records if record[name] is not None]
    adjusted = holm([record[name] for record in tested], planned)
    for record, p in zip(tested, adjusted, strict=True):
        record[f"{name}_holm"] = p


def _measure(cohort: Cohort, study: Study, metric: Metric) -> dict[str, Any]:
    """Return every number of one row; None where runs are missing."""
    base, k = study.baseline, study.top
    mine, theirs = metric.values(cohort, k), metric.values(base, k)
    several = len(mine) > 1
    middle = stratified(mine[:, None]) if several else None
    other = cohort.row != base.row and len(mine) > 0 and len(theirs) > 0
    better = improvement(theirs[:, None], mine[:, None]) if other else None
    gap = None
    if other and metric == PRIMARY:
        gap = difference((cohort, base), (1, -1), k)
    elif other:
        found = contrast((mine.tolist(), theirs.tolist()), (1, -1))
        gap = Estimate(found.value, found.interval)
    tested = other and several and len(theirs) > 1
    same = tested and metric.is_rate
    return {
        "variant": cohort.row.variant,
        "baseline": base.row.variant,
        "seeds": len(mine),
        "mean": float(mine.mean()) if len(mine) else None,
        "iqm": middle.value if middle else None,
        "iqm_low": middle.interval.low if middle else None,
        "iqm_high": middle.interval.high if middle else None,
        "baseline_better": better.value if better else None,
        "baseline_better_low": better.interval.low if better else None,
        "baseline_better_high": better.interval.high if better else None,
        "difference": gap.value if gap else None,
        "difference_low": gap.interval.low if gap else None,
        "difference_high": gap.interval.high if gap else None,
        "permutation_p": permutation(mine, theirs) if tested else None,
        "permutation_p_holm": None,
        "equivalence_p": equivalence(list(mine), list(theirs), MARGIN) if same else None,
        "runs": " ".join(names(cohort)),
    }


def estimates(study: Study, metric: Metric = PRIMARY) -> Table:
    """Return mean, IQM, difference, probability of improvement and tests of every row."""
    rows = list(study.cohorts.values())
    records = [_measure(cohort, study, metric) for cohort in rows]
    planned = max(0, len(rows) - 1)
    correct(records, "permutation_p", planned)
    base = study.baseline.row.label
    unit = " (pp)" if metric.is_rate else ""
    first = metric == PRIMARY
    return Table(
        "estimates" if first else f"estimates-{metric.slug}",
        "Primary metric over seeds" if first else f"{metric.name} over seeds",
        f"{_what(metric, study)}; every seed is one trial. IQM: interquartile mean of the seeds, "
        f"with a 95% bootstrap interval. Difference of the means from {base}, with a 95% interval. "
        f"P: probability that a run of {base} is above one of the row, with a bootstrap interval.",
        [
            column("Row", align="l"), column("seeds"), column("mean"), column("IQM"),
            column(f"difference{unit}"), column(f"P({base} {'better' if first else 'above'})"),
            column("p (Holm)"), *([column("p of equivalence")] if metric.is_rate else []),
        ],
        [
            Line(_cells(cohort, record, metric), names(cohort))
            for cohort, record in zip(rows, records, strict=True)
        ],
        notes=_notes(metric, planned),
        records=records,
    )  # fmt: skip


def _what(metric: Metric, study: Study) -> str:
    """Say what the numbers are."""
    if metric == PRIMARY:
        return f"No-drop success with {study.top} balls"
    if metric.of_episodes:
        return f"{metric.column} per episode with {metric.k or study.top} balls"
    ways = {
        "final": "mean of the last 5% of training", "best": "largest value in training",
        "least": "smallest value in training", "area": "mean over all of training",
    }  # fmt: skip
    return f"{metric.column}: {ways[metric.how]}"


def _notes(metric: Metric, planned: int) -> list[str]:
    drawn = (
        "IQM and P: runs are drawn with replacement (10,000 times or more), ties count by half. "
    )
    if metric == PRIMARY:
        drawn += (
            "Difference: seeds and starts are drawn at once, so that it speaks about other seeds "
            "and other starts."
        )
    else:
        drawn += "Difference: Welch's interval over seeds."
    tested = (
        "p: exact permutation test of the difference of means, in round brackets corrected by "
        f"Holm for {planned} comparisons."
    )
    if metric.is_rate:
        tested += (
            " Equivalence: two one-sided Welch tests that the means differ by less than "
            f"{100 * MARGIN:.0f} points; a large p of difference alone shows no equivalence."
        )
    return [drawn, tested]


def _number(value: float, metric: Metric) -> Cell:
    return percent(value) if metric.is_rate else plain(f"{value:.4g}".replace("-", "−"))


def _ends(interval: Interval, metric: Metric) -> str:
    if metric.is_rate:
        return f"[{short(100 * interval.low)}, {short(100 * interval.high)}]"
    return "[{:.4g}, {:.4g}]".format(*interval).replace("-", "−")


def _gap(gap: Estimate, metric: Metric) -> Cell:
    if metric.is_rate:
        return signed(gap.value, gap.interval, 1, 100, 1)
    if not np.isfinite(gap.interval.low):
        return stacked(plain(f"{gap.value:+.3g}".replace("-", "−")), "[one seed]")
    return stacked(plain(f"{gap.value:+.3g}".replace("-", "−")), _ends(gap.interval, metric))


def _cells(cohort: Cohort, record: dict[str, Any], metric: Metric) -> list[Cell]:
    label = Cell(cohort.row.label, cohort.row.tex)
    last = [] if not metric.is_rate else [record["equivalence_p"]]
    if not record["seeds"]:
        word = cohort.unjudged if metric.of_episodes or not cohort.finished else "no values"
        return [label, plain(0), *[missing(word)] * (5 + len(last))]
    none = plain("–")

    def estimate(name: str) -> Estimate | None:
        if record[name] is None or record[f"{name}_low"] is None:
            return None
        return Estimate(record[name], Interval(record[f"{name}_low"], record[f"{name}_high"]))

    middle, gap, better = map(estimate, ("iqm", "difference", "baseline_better"))
    p = record["permutation_p"]
    return [
        label,
        plain(record["seeds"]),
        _number(record["mean"], metric),
        stacked(_number(middle.value, metric), _ends(middle.interval, metric))
        if middle
        else plain("one seed"),
        _gap(gap, metric) if gap else none,
        stacked(percent(better.value), _ends(better.interval, PRIMARY)) if better else none,
        none
        if p is None
        else stacked(plain(p_value(p)), f"({p_value(record['permutation_p_holm'])})"),
        *(none if same is None else plain(p_value(same)) for same in last),
    ]


def sample_size(study: Study) -> Table | None:
    """Return the power of the permutation test against the baseline, by seeds per row."""
    rows = [cohort for cohort in study.cohorts.values() if cohort.row != study.baseline.row]
    theirs = study.baseline.counts(study.top, METRIC)
    if not rows or not theirs:
        return None
    alpha = ALPHA / len(rows)
    lines, records = [], []
    for cohort in rows:
        mine = cohort.counts(study.top, METRIC)
        known = len(mine) > 1 and len(theirs) > 1
        found = [power(mine, theirs, n, alpha) if known else None for n in SEEDS]
        cells = [plain("–") if p is None else plain(f"{p:.2f}") for p in found]
        lines.append(Line([Cell(cohort.row.label, cohort.row.tex), *cells], names(cohort)))
        records += [
            {"variant": cohort.row.variant, "baseline": study.baseline.row.variant, "seeds": n,
             "alpha": alpha, "power": p}
            for n, p in zip(SEEDS, found, strict=True)
        ]  # fmt: skip
    return Table(
        "power",
        "How many seeds",
        f"Probability that the no-drop rate with {study.top} balls differs from "
        f"{study.baseline.row.label}'s at p ≤ {ALPHA:g} / {len(rows)} (permutation test), "
        "by seeds per row.",
        [column("Row", align="l"), *(column(f"{n} seeds") for n in SEEDS)],
        lines,
        notes=[
            "Simulated: beta-binomial rates, with the mean and spread of the seeds at hand and as "
            "many episodes; from 7 seeds on 1,000 labellings are drawn. Another model would give "
            "other numbers. A plan for the next study, no verdict on this one."
        ],
        records=records,
    )
