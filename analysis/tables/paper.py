"""The paper's numbers beside ours, and whether they contradict each other where they may."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

from scipy.special import stdtrit

from analysis.cohort import Cohort
from analysis.paper import published
from analysis.stats.proportions import fisher, new_run
from analysis.study import Study
from analysis.tables import formats
from analysis.tables import headline as cells
from analysis.tables.model import Cell, Line, Table, column, stacked
from analysis.tables.settings import THRESHOLDS, alike
from s2m.run.rates import Count, Interval

INSIDE, OUTSIDE, ONE, NONE = "inside", "outside", "one run", "no run yet"
ALPHA = 0.05
_THRESHOLDS = ("length_ratio", *THRESHOLDS)


@dataclass(frozen=True)
class Verdict:
    """Whether a published value is what one more run of ours could have given."""

    word: str
    """Empty where the two may not be compared."""
    interval: Interval | None = None
    """Where one more run lies with 95 %, judged as the paper's was."""
    p: float | None = None
    """Of Fisher's exact test."""


SIDE_BY_SIDE = Verdict("")


def differences(study: Study) -> list[str]:
    """Return in what the runs are not the paper's; nothing where numbers may be compared."""
    if not study.config:
        return []
    config, theirs = study.config, published()["budget"]
    curriculum, asked = config["curriculum"], published()["curriculum"]
    found = []
    if config["sim"].get("name") != theirs["simulator"]:
        found.append("simulator")
    if any(config["budget"].get(n) != theirs[n] for n in ("iterations", "num_envs", "steps")):
        found.append("budget")
    ends = any(curriculum[name] != theirs[name] for name in ("start", "stop"))
    if ends or any(not _same(curriculum.get(name), asked[name]) for name in _THRESHOLDS):
        found.append("promotion thresholds")
    if config["task"].get("episode_steps") != theirs["episode_steps"]:
        found.append("episode length")
    return found


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return len(mine or []) == len(theirs) and all(map(alike, mine, theirs))
    return alike(mine, theirs)


def rate_verdict(paper: float, cohort: Cohort, k: int, metric: str) -> Verdict:
    """Compare a rate of the paper's one run: with ours by Fisher, with several by prediction."""
    counts = cohort.counts(k, metric)
    if not counts:
        return Verdict(cohort.unjudged if cohort.finished else NONE)
    n = published()["budget"]["episodes"]
    if len(counts) == 1:
        p = fisher(Count(round(paper * n), n), counts[0])
        return Verdict(OUTSIDE if p < ALPHA else INSIDE, p=p)
    interval = new_run(counts, n)
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def reached_verdict(paper: bool, cohort: Cohort, k: int) -> Verdict:
    """Compare whether the paper's one run reached k balls with how many of ours did, by Fisher."""
    times = cohort.times(k)
    if not times:
        return Verdict(NONE)
    p = fisher(Count(int(paper), 1), Count(sum(t.reached for t in times), len(times)))
    return Verdict(OUTSIDE if p < ALPHA else INSIDE, p=p)


def advance_verdict(paper: int | None, cohort: Cohort, k: int) -> Verdict:
    """Compare iterations to k balls: with several arrivals by a prediction interval of logarithms.

    Where the paper's run or one of ours never arrived, only arrivals are compared.
    """
    times = cohort.times(k)
    if paper is None or not times or not all(time.reached for time in times):
        return reached_verdict(paper is not None, cohort, k)
    if len(times) == 1:
        return Verdict(ONE)
    seen = [math.log(max(1.0, time.iteration)) for time in times]
    m = len(seen)
    half = float(stdtrit(m - 1, 0.975)) * statistics.stdev(seen) * math.sqrt(1 + 1 / m)
    centre = statistics.fmean(seen)
    interval = Interval(math.exp(centre - half), math.exp(centre + half))
    return Verdict(INSIDE if paper in interval else OUTSIDE, interval)


def _said(verdict: Verdict, kind: str, budget: int) -> str:
    """Return a verdict as text, with its interval or p-value."""
    if verdict.p is not None:
        return f"{verdict.word} (p = {formats.p_value(verdict.p)})"
    if verdict.interval is None:
        return verdict.word
    low, high = verdict.interval
    if kind == "rate":
        return f"{verdict.word} [{100 * low:.0f}, {100 * high:.0f}]"
    scale, unit = (1000, "k") if budget >= formats.THOUSANDS else (1, "")
    ends = (f"{x / scale:.1f}".removesuffix(".0") for x in (low, high))
    return verdict.word + " [{}, {}]".format(*ends) + unit


def beside_the_paper(study: Study) -> Table | None:
    """Return Table 1 of the paper with ours below each number, and a verdict where one is due."""
    if not study.of_paper:
        return None
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    budget, top = (published()["budget"][name] for name in ("iterations", "stop"))
    apart = differences(study)
    for variant, theirs in published()["encoders"].items():
        cohort = study.cohorts.get(variant)
        if cohort is None:
            continue
        quantities: list[tuple[str, str, Any, Cell, Cell, Verdict]] = [
            ("K_max", "level", theirs["k_max"], formats.level([theirs["k_max"]], top),
             cells.reached(cohort, study.top),
             reached_verdict(theirs["k_max"] >= top, cohort, top))
        ]  # fmt: skip
        for k, at in theirs["advance"].items():
            shown = formats.NOT_REACHED if at is None else formats.iterations(at, budget)
            ours = cells.advance(cohort, k, study.budget)
            verdict = advance_verdict(at, cohort, k)
            quantities.append((f"Adv. to {k}", "time", at, shown, ours, verdict))
        for metric in ("strict", "no_drop"):
            share = theirs[metric] / 100
            ours = cells.success(cohort, top, metric)
            verdict = rate_verdict(share, cohort, top, metric)
            quantities.append((metric, "rate", share, formats.percent(share), ours, verdict))
        row = [Cell(cohort.row.label, cohort.row.tex)]
        for name, kind, value, shown, ours, found in quantities:
            verdict = SIDE_BY_SIDE if apart else found
            said = _said(verdict, kind, study.budget) if verdict.word else f"ours {ours.text}"
            row.append(stacked(shown, said))
            low, high = verdict.interval or (None, None)
            records.append(
                {
                    "variant": variant, "quantity": name, "paper": value, "ours": ours.text,
                    "low": low, "high": high, "p": verdict.p, "verdict": verdict.word,
                    "runs": " ".join(cells.names(cohort)),
                }
            )  # fmt: skip
        lines.append(Line(row, cells.names(cohort)))
    return Table(
        "published",
        "Beside the paper",
        "The paper's Table 1 (one run per row, 100 episodes)"
        + (", and ours below each number." if apart else "; below, whether ours contradict it."),
        [
            column("Encoder", align="l"), column("K_max", r"$K_{\max}$"),
            column("Adv. to 3", r"Adv.\ to 3"), column("Adv. to 5", r"Adv.\ to 5"),
            column("strict"), column("no-drop"),
        ],
        lines,
        notes=[_apart(apart)] if apart else [COMPARED],
        records=records,
    )  # fmt: skip


COMPARED = (
    "In square brackets: where one more run of ours would lie with 95%, judged in 100 episodes as "
    "the paper's one run was. p: Fisher's exact test, of arrivals, or of the episodes of one run."
)


def _apart(names: list[str]) -> str:
    said = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    verb = "is" if len(names) == 1 else "are"
    return (
        f"No verdict: {said} {verb} not the paper's, so the numbers are set side by side and not "
        "compared."
    )
