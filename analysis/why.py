"""What runs say of the hypotheses of docs/why.md, which were fixed before them.

python -m analysis.why RUNS ... [--publish] prints two tables: the paper's Table 2 beside ours under
each explanation, and every hypothesis with its test. With --publish both go into docs/why.md.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from analysis.cohort import Cohort
from analysis.conditions import parse
from analysis.docs import replace_section
from analysis.dotted import settings
from analysis.frames import Frames
from analysis.paper import published
from analysis.rows import row
from analysis.sources.local import load
from analysis.stats.contrasts import holm
from analysis.stats.survival import Time, logrank, restricted_mean
from analysis.study import make_study
from analysis.tables import formats
from analysis.tables.headline import advance, reached
from analysis.tables.model import Cell, Line, Table, column, missing, plain
from analysis.tables.write import to_markdown
from s2m.console.errors import run_command

PAGE = Path(__file__).resolve().parents[1] / "docs" / "why.md"
SQUARE = DSHC, DSHC_OFF, PFDS, PFDS_OFF = ("dshc", "dshc_off", "pfds", "pfds_off")
FIXED, RUNNING, FROZEN, FLAT = "fixed scaling", "running", "frozen", "flat critic"
SCATTERED, STUDY = "scattered", "study"
_SHORT, _WHOLE, _SAME = "budget.iterations=300", "budget.iterations=500", "critic.encoder=same"
ARMS: Mapping[str, Sequence[str]] = {
    FIXED: (_SHORT, "normalise=fixed", _SAME),
    FROZEN: (_SHORT, "normalise=frozen", _SAME),
    RUNNING: (_SHORT, "normalise=running", _SAME),
    FLAT: (_SHORT, "normalise=fixed", "critic.encoder=flat_mlp"),
    SCATTERED: (_WHOLE, "task.spawn.arrangement=scattered"),
    STUDY: (_WHOLE, "normalise=fixed", _SAME, "task.spawn.arrangement=packed"),
}
"""The settings by which the runs of each explanation are told apart."""
SEEDS = {FIXED: 3, FROZEN: 5, RUNNING: 3, FLAT: 3, SCATTERED: 3, STUDY: 8}
"""How many seeds were planned for each row."""
PILOTS = (40, 41)
"""Seeds that had suggested the candidate."""
LEVEL = 3
"""The outcome is the iteration at which it begins."""
SOON = 150
"""Iterations within which a run that does not stall gets there."""
APART = 4.0
"""Ratio of the slowest to the fastest of equal learners that H6 asks for."""
ALPHA = 0.05

Arms = Mapping[str, Mapping[str, Cohort]]
"""The rows of each explanation of which there are runs."""


@dataclass(frozen=True)
class Finding:
    """What was seen of a hypothesis."""

    name: str
    claim: str
    seeds: str
    seen: str
    holds: bool | None
    """None until all planned runs are there."""
    p: float | None = None
    """Of a test; the first three are one family."""


def sort_runs(frames: Frames) -> Arms:
    """Sort runs by explanation."""
    found = {}
    for name, only in ARMS.items():
        conditions = [parse(text) for text in only]
        known = [(run, settings(run)) for run in frames.runs]
        chosen = [run for run, mine in known if all(one.holds(mine) for one in conditions)]
        cohorts = make_study(Frames(chosen)).cohorts
        rows = {variant: cohorts[variant] for variant in SQUARE if variant in cohorts}
        if any(cohort.finished for cohort in rows.values()):
            found[name] = rows
    return found


def beside(arms: Arms) -> Table:
    """Return the paper's Table 2 and ours under each explanation that changes the learner."""
    shown = [name for name in (FIXED, FROZEN, RUNNING, FLAT) if name in arms]
    heads = [column("Row", align="l"), column("paper: K_max"), column("Adv. to 3")]
    for name in shown:
        heads += [column(f"{name}: K_max"), column("Adv. to 3")]
    lines = []
    for variant in SQUARE:
        cohorts = [arms[name][variant] for name in shown if variant in arms[name]]
        ours = [cell for name in shown for cell in _ours(arms[name].get(variant))]
        runs = [run.id for cohort in cohorts for run in cohort.finished]
        lines.append(Line([plain(row(variant).label), *_theirs(variant), *ours], runs))
    return Table(
        "beside",
        "The paper's Table 2 beside ours",
        "The paper's Table 2 (30,000 iterations, one run per row) and ours (300 iterations). "
        "K_max: highest level reached; Adv. to 3: iterations to first have three balls, — = never.",
        heads,
        lines,
        notes=[
            "Ours: mean over seeds (a run that never arrives counts its budget: ≥); in brackets "
            "the range over seeds (> where a run never arrived) and how many arrived."
        ],
    )


def _theirs(variant: str) -> list[Cell]:
    numbers, budget = published()["encoders"][variant], published()["budget"]
    top, at = numbers["k_max"], numbers["advance"][LEVEL]
    advanced = formats.NOT_REACHED if at is None else formats.iterations(at, budget["iterations"])
    return [formats.level([top], budget["stop"]), advanced]


def _ours(cohort: Cohort | None) -> list[Cell]:
    if cohort is None or not cohort.finished:
        return [missing("pending")] * 2
    run = cohort.finished[0]
    top = int(run.config["curriculum"]["stop"])
    return [reached(cohort, top), advance(cohort, LEVEL, run.budget)]


def findings(arms: Arms) -> list[Finding]:
    """Return what was seen of every hypothesis, checks on validity last."""
    return [
        _later("H1a", arms, DSHC_OFF, DSHC),
        _later("H1b", arms, PFDS_OFF, PFDS),
        _later("H2", arms, DSHC_OFF, PFDS_OFF),
        _later("H1a without pilots", arms, DSHC_OFF, DSHC, PILOTS),
        _later("H1b without pilots", arms, PFDS_OFF, PFDS, PILOTS),
        _soon("H3", arms, RUNNING, (DSHC_OFF, PFDS_OFF)),
        _soon("H4", arms, FLAT, (DSHC_OFF, PFDS_OFF)),
        _every_pair("H5", arms),
        _far_apart("H6", arms),
        _soon("check", arms, FIXED, SQUARE),
        _soon("check", arms, FROZEN, (DSHC, PFDS)),
    ]


def hypotheses(arms: Arms) -> Table:
    """Return the findings with p-values corrected within the family of the first three."""
    found = findings(arms)
    family = [one.p for one in found[:3] if one.p is not None]
    corrected = iter(holm(family, 3))
    lines = []
    for i, one in enumerate(found):
        adjusted = next(corrected) if i < 3 and one.p is not None else None
        holds = one.holds and (adjusted is None or adjusted < ALPHA)
        outcome = "open" if one.holds is None else "supported" if holds else "not supported"
        if i > 2 and one.p is not None:
            outcome = "described"  # three against three allow no p below 0.1
        numbers = ["–" if p is None else formats.p_value(p) for p in (one.p, adjusted)]
        lines.append(
            Line([plain(x) for x in (one.name, one.claim, one.seeds, one.seen, *numbers, outcome)])
        )
    heads = ("", "claim", "runs", "seen", "p", "Holm", "outcome")
    return Table(
        "hypotheses",
        "The hypotheses and what was seen",
        "Every hypothesis, fixed before its runs, and what the runs say.",
        [column(text, align="l") for text in heads],
        lines,
        notes=[
            "Mean iterations to three balls count a run that never arrives with its budget (≥). p: "
            "exact permutation test of the log-rank statistic over seeds, two-sided; Holm: over "
            "H1a, H1b and H2. Open: not all planned runs are there."
        ],
    )


def _times(arms: Arms, arm: str, variant: str, without: Sequence[int] = ()) -> list[Time]:
    """Return when the runs of a row reached three balls."""
    cohort = arms.get(arm, {}).get(variant)
    if cohort is None:
        return []
    kept = [run for run in cohort.runs if run.seed not in without]
    return Cohort(cohort.row, kept).times(LEVEL)


def _later(name: str, arms: Arms, slow: str, fast: str, without: Sequence[int] = ()) -> Finding:
    """Compare two rows with frozen statistics: does the first need more iterations?"""
    a, b = (_times(arms, FROZEN, variant, without) for variant in (slow, fast))
    claim = f"frozen: {row(slow).label} later than {row(fast).label}"
    seeds, seen = f"{len(a)} vs {len(b)}", f"{_mean(a)} vs {_mean(b)}"
    if min(len(a), len(b)) < SEEDS[FROZEN] - len(without):
        return Finding(name, claim, seeds, seen, None)
    budget = max(time.iteration for time in (*a, *b))
    later = restricted_mean(a, budget) > restricted_mean(b, budget)
    return Finding(name, claim, seeds, seen, later, logrank(a, b))


def _mean(times: Sequence[Time]) -> str:
    """Return the mean iterations of a row, and how many arrived."""
    if not times:
        return "–"
    value = restricted_mean(times, max(time.iteration for time in times))
    arrived = sum(time.reached for time in times)
    return f"{'≥ ' if arrived < len(times) else ''}{value:.0f} ({arrived}/{len(times)})"


def _soon(name: str, arms: Arms, arm: str, variants: Sequence[str]) -> Finding:
    """Count the runs that do not stall."""
    times = [time for variant in variants for time in _times(arms, arm, variant)]
    soon = sum(time.reached and time.iteration <= SOON for time in times)
    labels = ", ".join(row(variant).label for variant in variants)
    claim = f"{arm}: {labels} have three balls within {SOON} iterations"
    done = len(times) == SEEDS[arm] * len(variants)
    return Finding(
        name, claim, str(len(times)), f"{soon} of {len(times)}",
        soon == len(times) if done else None,
    )  # fmt: skip


def _every_pair(name: str, arms: Arms) -> Finding:
    """Compare all pairs of runs in the task that demands more of the second level."""
    off, on = (_times(arms, SCATTERED, variant) for variant in (DSHC_OFF, DSHC))
    pairs = list(product(off, on))
    later = sum(b.reached and (not a.reached or a.iteration > b.iteration) for a, b in pairs)
    claim = f"{SCATTERED}: {row(DSHC_OFF).label} later than {row(DSHC).label} in every pair of runs"
    done = len(off) == len(on) == SEEDS[SCATTERED]
    return Finding(
        name, claim, f"{len(off)} vs {len(on)}", f"{later} of {len(pairs)} pairs",
        later == len(pairs) if done else None,
    )  # fmt: skip


def _far_apart(name: str, arms: Arms) -> Finding:
    """Compare the slowest with the fastest of runs that differ by chance alone."""
    times = [time for variant in (PFDS, PFDS_OFF) for time in _times(arms, STUDY, variant)]
    claim = f"{STUDY}: of equal learners one needs {APART:g} times the iterations of another"
    if not times:
        return Finding(name, claim, "0", "–", None)
    at = [time.iteration for time in times]
    ratio = max(at) / min(at)
    done = len(times) == 2 * SEEDS[STUDY]
    return Finding(
        name, claim, str(len(times)), f"{min(at):.0f} to {max(at):.0f}: {ratio:.1f} times",
        ratio >= APART if done else None,
    )  # fmt: skip


TABLES: Sequence[Callable[[Arms], Table]] = (beside, hypotheses)


def read(folders: Iterable[Path]) -> Arms:
    """Read the runs below some folders."""
    frames = [load(folder) for folder in folders]
    return sort_runs(
        Frames(
            [run for one in frames for run in one.runs],
            unread=[run for one in frames for run in one.unread],
        )
    )


def body(table: Table) -> str:
    """Return a table as Markdown without its heading."""
    return to_markdown(table).split("\n", 2)[2].strip("\n")


def main(words: list[str]) -> None:
    """Print both tables, and publish them if asked."""
    parser = argparse.ArgumentParser(prog="python -m analysis.why", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs")
    parser.add_argument("--publish", action="store_true", help="also into docs/why.md")
    options = parser.parse_args(words)
    arms = read(options.runs)
    for table in (make(arms) for make in TABLES):
        print(to_markdown(table))
        if options.publish:
            replace_section(PAGE, table.name, body(table))


if __name__ == "__main__":
    run_command(main)
