"""Differences between variants: at the level of seeds, at the level of episodes, never mixed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.cohort import Cohort
from analysis.frames import Run
from analysis.rows import PAPER
from analysis.stats.contrasts import contrast, holm
from analysis.stats.proportions import combination, episodes_needed, fisher
from analysis.stats.survival import DRAWN, is_exact, logrank, smallest_p
from analysis.study import Study
from analysis.tables.formats import p_value, signed
from analysis.tables.model import Cell, Line, Table, column, missing, plain, stacked
from s2m.run.rates import Count, Interval

SIGNS = {2: (1, -1), 4: (1, -1, -1, 1)}
ONE_SIDED = "‡"
NAMED = 20
"""Pairs of runs that a note names one by one."""
Comparison = tuple[str, list[Cohort]]
"""A name and the cells: two for a - b, four for (a - b) - (c - d)."""


def _measure(name: str, cells: Sequence[Cohort], k: int, study: Study) -> dict[str, Any]:
    """Return every number of one comparison; None where runs are missing."""
    weights = SIGNS[len(cells)]
    found: dict[str, Any] = {
        "comparison": name, "advance_to": k, "seeds": " ".join(str(len(c.finished)) for c in cells)
    }  # fmt: skip
    times = [[time.iteration for time in cell.times(k)] for cell in cells]
    # All runs of a study have one budget: cut there, their mean is the restricted mean.
    iterations = contrast(times, weights) if all(times) else None
    rates = [[c.rate for c in cell.counts(study.top, "no_drop")] for cell in cells]
    seeds = contrast(rates, weights) if all(rates) else None
    pooled = [cell.pooled(study.top, "no_drop") for cell in cells]
    value, interval = combination(pooled, weights) if all(rates) else (math.nan, (None, None))
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
        "no_drop_seeds": seeds.value if seeds else None,
        "no_drop_seeds_low": seeds.interval.low if seeds else None,
        "no_drop_seeds_high": seeds.interval.high if seeds else None,
        "no_drop_seeds_one_sided": seeds.one_sided if seeds else None,
        "no_drop_episodes": value,
        "no_drop_episodes_low": interval[0],
        "no_drop_episodes_high": interval[1],
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
    measured = [[_measure(label, cells, k, study) for k in levels] for label, cells in comparisons]
    records = [record for line in measured for record in line]
    tested = [record for record in records if record["logrank_p"] is not None]
    planned = len(levels) * sum(len(cells) == 2 for _, cells in comparisons)
    adjusted = holm([record["logrank_p"] for record in tested], planned)
    for record, p in zip(tested, adjusted, strict=True):
        record["logrank_p_holm"] = p
    lines = []
    for (label, cells), (record, *others) in zip(comparisons, measured, strict=True):
        word = next((cell.missing for cell in cells if not cell.finished), "")
        unjudged = [cell.unjudged for cell in cells if not cell.counts(study.top, "no_drop")]
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
                            missing(word) if at["iterations"] is None else _tested(at),
                        )
                    ),
                    *(
                        _resting(_signed(record, f"no_drop_{by}", rates, bound, 100, 1), record)
                        for by in ("seeds", "episodes")
                    ),
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
            column("no-drop, seeds (pp)"), column("no-drop, episodes (pp)"),
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


def _tested(record: dict[str, Any]) -> Cell:
    """Return a p-value and what Holm makes of it; nothing where nothing was tested."""
    if record["logrank_p"] is None:
        return plain("")
    return stacked(plain(p_value(record["logrank_p"])), f"({p_value(record['logrank_p_holm'])})")


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
        f"over seeds. No-drop: difference of rates in percentage points at {study.top} balls, once "
        "over seeds (Welch) and once over the pooled episodes of these very policies (Newcombe): "
        "only the first speaks about other seeds. Where not all finished runs were evaluated, "
        "their numbers stand behind in round brackets.",
        f"5 against 5 seeds cannot give less than p = {smallest_p(5, 5):.4f}, 3 against 3 not less "
        f"than {smallest_p(3, 3):.1f}. Telling 98% from 100% no-drop apart needs about "
        f"{episodes_needed(0.98, 1.0)} episodes per policy (power 80%).",
    ]
    if any(r["iterations_one_sided"] or r["no_drop_seeds_one_sided"] for r in records):
        notes.append(
            f"{ONE_SIDED} the runs of one side do not differ at all (none arrived, or all reach "
            "the same rate): the interval knows the spread of the other side only and is too short."
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


def effects(study: Study) -> Table:
    """Return the effects of permutation and encoder in the 2 x 2, and their interaction."""
    on, off = study.cohorts["dshc"], study.cohorts["dshc_off"]
    frame_on, frame_off = study.cohorts["pfds"], study.cohorts["pfds_off"]
    comparisons: list[Comparison] = [
        ("DSHC: permuted − not", [on, off]),
        ("PFDS: permuted − not", [frame_on, frame_off]),
        ("permuted: PFDS − DSHC", [frame_on, on]),
        ("not permuted: PFDS − DSHC", [frame_off, off]),
        ("interaction: PFDS' effect − DSHC's", [frame_on, frame_off, on, off]),
    ]
    caption = (
        "Effects in the 2 × 2 design. The interaction is the effect of permutation on PFDS minus "
        "its effect on DSHC."
    )
    table = _table("effects", "Effects in the 2 × 2", caption, comparisons, (3, 5), study)
    return replace(table, notes=[*table.notes, *_paired(frame_on, frame_off, study.top)])


def _paired(on: Cohort, off: Cohort, top: int) -> list[str]:
    """Compare PFDS with itself per seed: it cannot see the permutation."""
    other = {run.seed: run for run in off.finished}
    pairs = [(run, other[run.seed]) for run in on.finished if run.seed in other]
    if not pairs:
        return []

    def when(run: Run) -> str:
        return ", ".join("never" if (at := run.began(k)) is None else f"{at:,}" for k in (3, 5))

    said = "; ".join(f"seed {a.seed}: {when(a)} and {when(b)}" for a, b in pairs[:NAMED])
    if len(pairs) > NAMED:
        said += f"; and {len(pairs) - NAMED} more pairs, in runs.csv"
    notes = [
        "An exactly invariant policy and critic cannot see the permutation, so PFDS with and "
        "without it is the same training up to rounding. Iterations to 3 and 5 balls with and "
        f"without, same seed: {said}."
    ]
    rates = [(_no_drop(a, top), _no_drop(b, top)) for a, b in pairs]
    gaps = [a - b for a, b in rates if a is not None and b is not None]
    if len(gaps) > 1:
        found = contrast([gaps], (1,))
        shown = signed(found.value, found.interval, 1, 100, 1)
        notes.append(
            f"The no-drop rates of these pairs differ by {shown.text} percentage points: a t "
            f"interval over the differences of {len(gaps)} seeds, which the Welch interval of the "
            "table, made for runs that have nothing in common, does not use."
        )
    return notes


def _no_drop(run: Run, k: int) -> float | None:
    """Return the no-drop rate of a run with k balls, if it has one."""
    return run.rates[k].count("no_drop").rate if k in run.rates else None


def comparisons(study: Study) -> Table:
    """Return every other variant of the paper against PFDS."""
    rest = [variant for variant in PAPER if variant != "pfds"]
    pairs: list[Comparison] = [
        (f"{study.cohorts[v].row.label} − PFDS", [study.cohorts[v], study.cohorts["pfds"]])
        for v in rest
    ]
    caption = "Every encoder against PFDS: iterations to five balls and no-drop rates."
    return _table("comparisons", "Against PFDS", caption, pairs, (5,), study)
