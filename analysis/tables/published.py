"""Our numbers beside the paper's: does its value lie in our interval?"""

import math
from dataclasses import dataclass
from typing import Any

from analysis.cohort import Cohort
from analysis.published import published
from analysis.stats.proportions import Count, Interval, wilson
from analysis.study import Study
from analysis.tables import encoders as cells
from analysis.tables import formats
from analysis.tables.model import Cell, Line, Table, column, stacked

PAPER_TOP = 5
INSIDE, OUTSIDE, OTHER, ONE, NONE = "inside", "outside", "other budget", "one run", "no run yet"


@dataclass(frozen=True)
class Verdict:
    """Whether a published value lies in our interval."""

    word: str
    interval: Interval | None = None


def rate_verdict(paper: float, counts: list[Count]) -> Verdict:
    """Compare a rate: from the lower Wilson end of the worst seed to the upper of the best."""
    if not counts:
        return Verdict(NONE)
    ends = [wilson(count) for count in counts]
    interval = Interval(min(e.low for e in ends), max(e.high for e in ends))
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def advance_verdict(paper: int | None, cohort: Cohort, k: int, comparable: bool) -> Verdict:
    """Compare iterations to a level with the range over seeds, open where a run never arrived."""
    times = cohort.times(k)
    if not times:
        return Verdict(NONE)
    arrived = [time.iteration for time in times if time.reached]
    if paper is None and len(arrived) == len(times):
        return Verdict(OUTSIDE)
    if not comparable:
        return Verdict(OTHER)
    if paper is None:
        # "Not within the budget" agrees with runs of which one did not arrive either.
        return Verdict(INSIDE)
    if not arrived:
        return Verdict(OUTSIDE)
    if len(times) == 1:
        return Verdict(ONE)
    high = max(arrived) if len(arrived) == len(times) else float("inf")
    interval = Interval(min(arrived), high)
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def level_verdict(paper: int, levels: list[int]) -> Verdict:
    """Compare K_max with the range over seeds; below the top the paper says "at most"."""
    if not levels:
        return Verdict(NONE)
    interval = Interval(min(levels), max(levels))
    agrees = paper in interval if paper == PAPER_TOP else interval.low <= paper
    return Verdict(INSIDE if agrees else OUTSIDE, interval)


def same_budget(study: Study) -> bool:
    """Tell whether our iterations mean the same as the paper's."""
    budget = study.config["budget"] if study.config else {}
    theirs = published()["budget"]
    return all(budget.get(name) == theirs[name] for name in ("iterations", "num_envs", "steps"))


def _range(verdict: Verdict, kind: str, budget: int) -> str:
    """Return the interval behind a verdict as text: percent, levels or iterations."""
    if verdict.interval is None:
        return ""
    low, high = verdict.interval
    if kind == "rate":
        return f" [{100 * low:.0f}, {100 * high:.0f}]"
    if kind == "level":
        return f" {low:.0f}–{high:.0f}" if low < high else f" {low:.0f}"
    scale, unit = (1000, "k") if budget >= formats.THOUSANDS else (1, "")
    ends = ("∞" if math.isinf(x) else f"{x / scale:.1f}".removesuffix(".0") for x in (low, high))
    return " {}–{}".format(*ends) + unit


def beside_the_paper(study: Study) -> Table:
    """Return Table 1 of the paper, and below each number whether it lies in our interval."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    comparable = same_budget(study)
    for variant, theirs in published()["encoders"].items():
        cohort = study.cohorts[variant]
        row = [Cell(cohort.row.label, cohort.row.tex)]
        quantities: list[tuple[str, str, Any, Cell, Verdict]] = [
            ("K_max", "level", theirs["k_max"], formats.level([theirs["k_max"]], PAPER_TOP),
             level_verdict(theirs["k_max"], cohort.levels()))
        ]  # fmt: skip
        for k, at in theirs["advance"].items():
            shown = formats.NOT_REACHED if at is None else formats.iterations(at, 30_000)
            verdict = advance_verdict(at, cohort, k, comparable)
            quantities.append((f"Adv. to {k}", "time", at, shown, verdict))
        for metric in ("strict", "no_drop"):
            share = theirs[metric] / 100
            verdict = rate_verdict(share, cohort.counts(study.top, metric))
            quantities.append((metric, "rate", share, formats.percent(share), verdict))
        for name, kind, value, shown, verdict in quantities:
            interval = verdict.interval or (None, None)
            row.append(stacked(shown, verdict.word + _range(verdict, kind, study.budget)))
            records.append(
                {
                    "variant": variant, "quantity": name, "paper": value, "low": interval[0],
                    "high": interval[1], "verdict": verdict.word,
                    "runs": " ".join(cells.names(cohort)),
                }
            )  # fmt: skip
        lines.append(Line(row, cells.names(cohort)))
    notes = [
        "Our interval: of levels and iterations the range over seeds; of rates from the lower "
        "Wilson end of the worst seed to the upper one of the best. One run has no range of "
        "iterations."
    ]
    if not comparable:
        notes.append(
            "The budget differs from the paper's, as do robot and simulator: rates and levels are "
            "set side by side, numbers of iterations are not compared (other budget)."
        )
    return Table(
        "published",
        "Beside the paper",
        "The paper's Table 1 (one run per row, 100 episodes); below each number whether it lies "
        "inside our interval or outside.",
        [
            column("Encoder", align="l"), column("K_max", r"$K_{\max}$"),
            column("Adv. to 3", r"Adv.\ to 3"), column("Adv. to 5", r"Adv.\ to 5"),
            column("strict"), column("no-drop"),
        ],
        lines,
        notes=notes,
        records=records,
    )  # fmt: skip
