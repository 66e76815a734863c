"""Differences between variants: at the level of seeds, at the level of episodes, never mixed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.cohort import Cohort
from analysis.frames import Run
from analysis.stats.contrasts import contrast
from analysis.stats.proportions import episodes_needed, fisher
from analysis.stats.survival import DRAWN, is_exact, logrank, smallest_p
from analysis.study import Study
from analysis.tables.estimates import METRIC, correct, difference, significance
from analysis.tables.formats import p_value, signed
from analysis.tables.model import Cell, Line, Table, column, missing, plain, stacked
from s2m.config.critic import SAME
from s2m.config.run import FIXED
from s2m.run.rates import Count, Interval

SIGNS = {2: (1, -1), 4: (1, -1, -1, 1)}
LOGRANK = "logrank_p"
ONE_SIDED = "‡"
NAMED = 20
"""Pairs of runs that a note names one by one."""
Comparison = tuple[str, list[Cohort]]
"""A name and the cells: two for a - b, four for (a - b) - (c - d)."""


def measure(name: str, cells: Sequence[Cohort], k: int, study: Study) -> dict[str, Any]:
    """Return every number of one comparison; None where runs are missing."""
    weights = SIGNS[len(cells)]
    found: dict[str, Any] = {
        "comparison": name, "advance_to": k, "seeds": " ".join(str(len(c.finished)) for c in cells)
    }  # fmt: skip
    times = [[time.iteration for time in cell.times(k)] for cell in cells]
    # All runs of a row have one budget: cut there, their mean is the restricted mean.
    iterations = contrast(times, weights) if all(times) else None
    rates = [[c.rate for c in cell.counts(study.top, METRIC)] for cell in cells]
    gap = difference(cells, weights, study.top) if all(rates) else None
    arrived = [Count(sum(t.reached for t in c.times(k)), len(c.finished)) for c in cells]
    two = len(cells) == 2 and all(times)
    return found | {
        "iterations": iterations.value if iterations else None,
        "iterations_low": iterations.interval.low if iterations else None,
        "iterations_high": iterations.interval.high if iterations else None,
        "iterations_one_sided": iterations.one_sided if iterations else None,
        "logrank_p": logrank(cells[0].times(k), cells[1].times(k)) if two else None,
        "logrank_p_holm": None,
        "logrank_p_least_possible": smallest_p(*(len(t) for t in times)) if two else None,
        "reached": " ".join(f"{c.hits}/{c.n}" for c in arrived),
        "reached_fisher_p": fisher(*arrived) if two else None,
        "no_drop_runs": " ".join(str(len(rate)) for rate in rates),
        "no_drop": gap.value if gap else None,
        "no_drop_low": gap.interval.low if gap else None,
        "no_drop_high": gap.interval.high if gap else None,
        "no_drop_p": significance(rates, weights),
        "no_drop_p_holm": None,
        "runs": " ".join(run.id for cell in cells for run in cell.finished),
    }


def _table(
    name: str,
    title: str,
    caption: str,
    comparisons: list[Comparison],
    levels: Sequence[int],
    study: Study,
) -> Table:
    """Return a line per comparison: iterations to each of the levels, then success rates."""
    measured = [[measure(label, cells, k, study) for k in levels] for label, cells in comparisons]
    records = [record for line in measured for record in line]
    tested = [record for record in records if record["logrank_p"] is not None]
    planned = len(levels) * sum(len(cells) == 2 for _, cells in comparisons)
    correct(tested, "logrank_p", planned)
    # The rates are the same for all levels: one test per comparison.
    correct([line[0] for line in measured], "no_drop_p", len(comparisons))
    for first, *others in measured:
        for record in others:
            record["no_drop_p_holm"] = first["no_drop_p_holm"]
    lines = []
    for (label, cells), (record, *others) in zip(comparisons, measured, strict=True):
        word = next((cell.missing for cell in cells if not cell.finished), "")
        unjudged = [cell.unjudged for cell in cells if not cell.counts(study.top, METRIC)]
        rates = unjudged[0] if unjudged else ""
        bound = len(cells) // 2
        lines.append(
            Line(
                [
                    plain(label),
                    plain(_sides(record["seeds"])),
                    *(
                        cell
                        for at in (record, *others)
                        for cell in (
                            _signed(at, "iterations", word, bound * study.budget, 1, 0),
                            missing(word) if at["iterations"] is None else tested_by(at, LOGRANK),
                        )
                    ),
                    _resting(_signed(record, METRIC, rates, bound, 100, 1), record),
                    missing(rates) if rates else tested_by(record, "no_drop_p"),
                ],
                record["runs"].split(),
            )
        )  # fmt: skip
    return Table(
        name,
        title,
        caption,
        [
            column("Comparison", align="l"), column("seeds"),
            *(column(head) for k in levels for head in (f"Adv. to {k}", "log-rank p (Holm)")),
            column("no-drop (pp)"), column("p (Holm)"),
        ],
        lines,
        notes=[*_notes(study, levels, records), *_holm(tested, planned)],
        records=records,
    )  # fmt: skip


def _signed(
    record: dict[str, Any], name: str, word: str, bound: float, scale: float, digits: int
) -> Cell:
    value = record[name]
    if value is None or math.isnan(value):
        return missing(word)
    interval = Interval(record[f"{name}_low"], record[f"{name}_high"])
    mark = ONE_SIDED if record.get(f"{name}_one_sided") else ""
    return signed(value, interval, bound, scale, digits, mark)


def tested_by(record: dict[str, Any], name: str) -> Cell:
    """Return a p-value and what Holm makes of it; nothing where nothing was tested."""
    if record[name] is None:
        return plain("–")
    return stacked(plain(p_value(record[name])), f"({p_value(record[f'{name}_holm'])})")


def _sides(counts: str) -> str:
    """Return the runs of each cell as text: 5 vs 3, or those of four cells."""
    return counts.replace(" ", " vs " if counts.count(" ") == 1 else ", ")


def _resting(cell: Cell, record: dict[str, Any]) -> Cell:
    """Add on how many runs a difference of rates rests, where those are not all finished ones."""
    if cell.missing or record["no_drop_runs"] == record["seeds"]:
        return cell
    part = f" ({_sides(record['no_drop_runs'])})"
    return replace(cell, text=cell.text + part, under=cell.under + part)


def _notes(study: Study, levels: Sequence[int], records: list[dict[str, Any]]) -> list[str]:
    notes = [
        f"Adv. to {' and '.join(map(str, levels))}: difference of restricted mean iterations (a "
        f"run that never arrives counts its budget of {study.budget:,}) with a 95% Welch interval "
        f"over seeds. No-drop: difference of the mean rates with {study.top} balls in percentage "
        "points, with a 95% interval from drawing seeds and starts at once; p: exact permutation "
        "test over seeds, of an interaction Welch's t. Where not all finished runs were "
        "evaluated, a cell says how many were.",
        f"5 against 5 seeds cannot give less than p = {smallest_p(5, 5):.4f}, 3 against 3 not less "
        f"than {smallest_p(3, 3):.1f}. Telling 98% from 100% no-drop apart needs about "
        f"{episodes_needed(0.98, 1.0)} episodes per policy (power 80%).",
    ]
    if any(r["iterations_one_sided"] for r in records):
        notes.append(
            f"{ONE_SIDED} the runs of one side do not differ at all (none arrived, or all at "
            "once): the interval knows the spread of the other side only and is too short."
        )
    return notes


def _holm(tested: list[dict[str, Any]], planned: int) -> list[str]:
    """Say how the tests were made, for how many they are corrected and what they can give."""
    if not tested:
        return []
    sizes = [tuple(map(int, record["seeds"].split())) for record in tested]
    ways = [
        "exact over all ways to label the runs" if exact else f"over {DRAWN:,} drawn labellings"
        for exact in sorted({is_exact(*size) for size in sizes}, reverse=True)
    ]
    least = min(record["logrank_p_least_possible"] for record in tested)
    return [
        f"The log-rank test is {', for larger groups '.join(ways)}. Holm corrects for all "
        f"{planned} tests of this table, also for those without runs yet: with the seeds at "
        f"hand no Holm p can be below {planned} × {p_value(least)} = "
        f"{p_value(min(1.0, planned * least))}."
    ]


def effects(study: Study) -> Table | None:
    """Return the effects of the two settings of the 2 x 2, and their interaction."""
    square = study.square
    if square is None:
        return None
    (low_on, low_off), (high_on, high_off) = square.cells
    (low, high), (on, off) = square.first.words, square.second.words
    comparisons: list[Comparison] = [
        (f"{low}: {on} − {off}", [low_on, low_off]),
        (f"{high}: {on} − {off}", [high_on, high_off]),
        (f"{on}: {high} − {low}", [high_on, low_on]),
        (f"{off}: {high} − {low}", [high_off, low_off]),
        (f"interaction: effect on {high} − on {low}", [high_on, high_off, low_on, low_off]),
    ]
    caption = (
        f"Effects in the 2 × 2 design. The interaction is the effect of “{on}” against “{off}” on "
        f"{high} minus its effect on {low}."
    )
    table = _table("effects", "Effects in the 2 × 2", caption, comparisons, (3, 5), study)
    pairs = _paired(high_on, high_off, study.top) if square.of_encoders else []
    return replace(table, notes=[*table.notes, *pairs])


def _blind(run: Run) -> bool:
    """Tell whether nothing in a PFDS run can see the permutation: scaling and critic neither."""
    critic = run.config.get("critic", {}).get("encoder", SAME)
    return run.config.get("normalise", FIXED) == FIXED and critic == SAME


def _paired(on: Cohort, off: Cohort, top: int) -> list[str]:
    """Compare PFDS with itself per seed."""
    other = {run.seed: run for run in off.finished}
    pairs = [(run, other[run.seed]) for run in on.finished if run.seed in other]
    if not pairs:
        return []

    def when(run: Run) -> str:
        return ", ".join("never" if (at := run.began(k)) is None else f"{at:,}" for k in (3, 5))

    said = "; ".join(f"seed {a.seed}: {when(a)} and {when(b)}" for a, b in pairs[:NAMED])
    if len(pairs) > NAMED:
        said += f"; and {len(pairs) - NAMED} more pairs, in runs.csv"
    why = ""
    if all(_blind(run) for pair in pairs for run in pair):
        why = (
            "An exactly invariant policy and critic cannot see the permutation, so PFDS with and "
            "without it is the same training up to rounding. "
        )
    notes = [f"{why}Iterations of PFDS to 3 and 5 balls with and without, same seed: {said}."]
    rates = [(_no_drop(a, top), _no_drop(b, top)) for a, b in pairs]
    gaps = [a - b for a, b in rates if a is not None and b is not None]
    if len(gaps) > 1:
        found = contrast([gaps], (1,))
        shown = signed(found.value, found.interval, 1, 100, 1)
        notes.append(
            f"The no-drop rates of these pairs differ by {shown.text} percentage points: a t "
            f"interval over the differences of {len(gaps)} seeds. The interval of the table, made "
            "for runs that have nothing in common, does not use that they are pairs."
        )
    return notes


def _no_drop(run: Run, k: int) -> float | None:
    """Return the no-drop rate of a run with k balls, if it has one."""
    return run.rates[k].count("no_drop").rate if k in run.rates else None


def comparisons(study: Study) -> Table | None:
    """Return every other row against the baseline."""
    base = study.baseline
    rows = [cohort for cohort in study.cohorts.values() if cohort.row != base.row]
    if not rows:
        return None
    label = base.row.label
    pairs: list[Comparison] = [(f"{one.row.label} − {label}", [one, base]) for one in rows]
    caption = f"Every row against {label}: iterations to five balls and no-drop rates."
    return _table("comparisons", f"Against {label}", caption, pairs, (5,), study)
