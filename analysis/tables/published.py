"""Our numbers beside the paper's: does its value lie in our interval?"""

from dataclasses import dataclass
from typing import Any

from analysis.cohort import Cohort
from analysis.published import published
from analysis.stats.proportions import Count, Interval, wilson
from analysis.study import Study
from analysis.tables import encoders as cells
from analysis.tables import formats
from analysis.tables.model import Cell, Line, Table, column, plain

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
    if paper is None:
        # "Not within the budget" agrees with runs of which one did not arrive either.
        return Verdict(INSIDE if len(arrived) < len(times) else OUTSIDE)
    if not arrived:
        return Verdict(OUTSIDE)
    if not comparable:
        return Verdict(OTHER)
    if len(times) == 1:
        return Verdict(ONE)
    high = max(arrived) if len(arrived) == len(times) else float("inf")
    interval = Interval(min(arrived), high)
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def level_verdict(paper: int, levels: list[int]) -> Verdict:
    """Compare K_max with the range over seeds."""
    if not levels:
        return Verdict(NONE)
    interval = Interval(min(levels), max(levels))
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def same_budget(study: Study) -> bool:
    """Tell whether our iterations mean the same as the paper's."""
    budget = study.config["budget"] if study.config else {}
    theirs = published()["budget"]
    return all(budget.get(name) == theirs[name] for name in ("iterations", "num_envs", "steps"))


def beside_the_paper(study: Study) -> Table:
    """Return one line per published number of Table 1."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    comparable = same_budget(study)

    def add(cohort: Cohort, what: str, paper: Cell, value: Any, ours: Cell, verdict: Verdict):
        first = bool(lines) and not lines[-1].cells[0].text == cohort.row.label and what == "K_max"
        label = Cell(cohort.row.label, cohort.row.tex)
        lines.append(
            Line([label, plain(what), paper, ours, plain(verdict.word)], cells.names(cohort), first)
        )
        records.append(
            {
                "variant": cohort.row.variant, "quantity": what, "paper": value,
                "low": verdict.interval.low if verdict.interval else None,
                "high": verdict.interval.high if verdict.interval else None,
                "verdict": verdict.word, "runs": " ".join(cells.names(cohort)),
            }
        )  # fmt: skip

    for variant, theirs in published()["encoders"].items():
        cohort = study.cohorts[variant]
        level = theirs["k_max"]
        add(
            cohort, "K_max", formats.level([level], 5), level,
            cells.reached(cohort, study.top), level_verdict(level, cohort.levels()),
        )  # fmt: skip
        for k, at in theirs["advance"].items():
            shown = formats.NOT_REACHED if at is None else formats.iterations(at, 30_000)
            add(
                cohort, f"Adv. to {k}", shown, at, cells.advance(cohort, k, study.budget),
                advance_verdict(at, cohort, k, comparable),
            )  # fmt: skip
        for metric in ("strict", "no_drop"):
            share = theirs[metric] / 100
            add(
                cohort, metric.replace("_", "-"), formats.percent(share), share,
                cells.success(cohort, study.top, metric),
                rate_verdict(share, cohort.counts(study.top, metric)),
            )  # fmt: skip
    return Table(
        "published",
        "Beside the paper",
        "The paper's Table 1 (one run per row, 100 episodes) beside this study, and whether its "
        "value lies in our interval.",
        [
            column("Encoder", align="l"), column("Quantity", align="l"), column("paper"),
            column("here"), column("paper's value", align="l"),
        ],
        lines,
        notes=[
            "Our interval: of levels and iterations the range over seeds; of rates from the lower "
            "Wilson end of the worst seed to the upper one of the best.",
            *(
                []
                if comparable
                else [
                    "Robot, simulator and budget differ from the paper's: rates and levels are set "
                    "side by side, numbers of iterations are not comparable (other budget)."
                ]
            ),
        ],
        records=records,
    )  # fmt: skip
