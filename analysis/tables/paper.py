"""Our numbers beside the paper's: does its value lie in our interval?"""

import math
from dataclasses import dataclass
from typing import Any

from analysis.cohort import Cohort
from analysis.paper import published
from analysis.study import Study
from analysis.tables import formats
from analysis.tables import headline as cells
from analysis.tables.model import Cell, Line, Table, column, stacked
from s2m.run.rates import Interval, wilson

INSIDE, OUTSIDE, ONE, NONE = "inside", "outside", "one run", "no run yet"
BUDGET, SIMULATOR, CURRICULUM = "other budget", "other simulator", "other curriculum"


@dataclass(frozen=True)
class Verdict:
    """Whether a published value lies in our interval."""

    word: str
    interval: Interval | None = None


def rate_verdict(paper: float, cohort: Cohort, k: int, metric: str) -> Verdict:
    """Compare a rate: from the lower Wilson end of the worst seed to the upper of the best."""
    counts = cohort.counts(k, metric)
    if not counts:
        return Verdict(cohort.unjudged if cohort.finished else NONE)
    ends = [wilson(count) for count in counts]
    interval = Interval(min(e.low for e in ends), max(e.high for e in ends))
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def advance_verdict(paper: int | None, cohort: Cohort, k: int, differs: str) -> Verdict:
    """Compare iterations to a level with the range over seeds, open where a run never arrived.

    `differs`: what keeps our iterations from meaning the same as the paper's, if anything does.
    """
    times = cohort.times(k)
    if not times:
        return Verdict(NONE)
    arrived = [time.iteration for time in times if time.reached]
    if paper is None and differs in ("", BUDGET) and len(arrived) == len(times):
        # "Not within its budget" is contradicted by arrivals within it, whatever ours may be.
        within = max(arrived) <= published()["budget"]["iterations"]
        return Verdict(OUTSIDE if within and _same_samples(cohort) else BUDGET)
    if differs:
        return Verdict(differs)
    if paper is None:
        # It agrees with runs of which one did not arrive either.
        return Verdict(INSIDE)
    if not arrived:
        return Verdict(OUTSIDE)
    if len(times) == 1:
        return Verdict(ONE)
    high = max(arrived) if len(arrived) == len(times) else float("inf")
    interval = Interval(min(arrived), high)
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def level_verdict(paper: int, levels: list[int], top: int) -> Verdict:
    """Compare K_max with the range over seeds; below the top the paper says "at most"."""
    if not levels:
        return Verdict(NONE)
    theirs = published()["budget"]["stop"]
    if top != theirs:
        return Verdict(CURRICULUM)
    interval = Interval(min(levels), max(levels))
    agrees = paper in interval if paper == theirs else interval.low <= paper
    return Verdict(INSIDE if agrees else OUTSIDE, interval)


def _same_samples(cohort: Cohort) -> bool:
    """Tell whether an iteration of these runs has as many samples as one of the paper's."""
    theirs = published()["budget"]
    ours = [run.config["budget"] for run in cohort.finished]
    return {b["num_envs"] * b["steps"] for b in ours} == {theirs["num_envs"] * theirs["steps"]}


def difference(study: Study, k: int) -> str:
    """Return why our iterations to k balls cannot be compared with the paper's, if so."""
    if not study.config:
        return ""
    config, theirs = study.config, published()["budget"]
    if config["curriculum"]["start"] != theirs["start"] or k > study.top:
        return CURRICULUM
    if config["sim"].get("name") != theirs["simulator"]:
        return SIMULATOR
    same = all(
        config["budget"].get(name) == theirs[name] for name in ("iterations", "num_envs", "steps")
    )
    return "" if same else BUDGET


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
    budget, top = (published()["budget"][name] for name in ("iterations", "stop"))
    differences = {difference(study, k) for k in (3, top)} - {""}
    for variant, theirs in published()["encoders"].items():
        cohort = study.cohorts[variant]
        row = [Cell(cohort.row.label, cohort.row.tex)]
        quantities: list[tuple[str, str, Any, Cell, Verdict]] = [
            ("K_max", "level", theirs["k_max"], formats.level([theirs["k_max"]], top),
             level_verdict(theirs["k_max"], cohort.levels(), study.top))
        ]  # fmt: skip
        for k, at in theirs["advance"].items():
            shown = formats.NOT_REACHED if at is None else formats.iterations(at, budget)
            verdict = advance_verdict(at, cohort, k, difference(study, k))
            quantities.append((f"Adv. to {k}", "time", at, shown, verdict))
        for metric in ("strict", "no_drop"):
            share = theirs[metric] / 100
            verdict = rate_verdict(share, cohort, top, metric)
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
    if differences:
        notes.append(
            "Numbers of iterations are compared only at the paper's own budget, in its simulator "
            "and with its curriculum, levels only with the latter "
            f"({', '.join(sorted(differences))}); rates with {top} balls are set side by side, "
            "though robot and simulator may differ."
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
