"""What a study found, in sentences made from its tests: who is best at what, and how surely."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.stats.contrasts import holm
from analysis.stats.survival import smallest_p
from analysis.study import Study
from analysis.tables.formats import p_value, short
from analysis.tables.model import Table

ALPHA = 0.05
"""The largest corrected p that counts as sure."""
SMALL = "demo"
"""The budget that shows how everything fits together, and trains too little to say anything."""

Numbers = Mapping[str, Any]


def warning(study: Study) -> str:
    """Say that the numbers mean nothing, where the budget is for trying the commands."""
    budget = (study.config or {}).get("budget", {})
    if budget.get("name") != SMALL:
        return ""
    return (
        f"These numbers mean nothing. The budget “{SMALL}” ({study.budget:,} iterations) shows "
        "that every step works; no policy learns to carry balls in it. Train with budget=desktop "
        "or budget=paper before you compare rows."
    )


def answer(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return the findings, the most important first."""
    found = {table.name: table.records for table in tables}
    measured = [r for r in found.get("estimates", ()) if r["seeds"]]
    if not measured:
        return ["No policy has been evaluated yet: the tables fill as runs finish."]
    return [
        *_best(study, measured),
        *_tested(study, measured),
        *_first(study, found.get("encoders", ()), found.get("comparisons", ())),
    ]


def _label(study: Study, record: Numbers) -> str:
    return study.every[record["variant"]].row.label


def _best(study: Study, measured: Sequence[Numbers]) -> list[str]:
    """Name the row with the highest rate at the top level."""
    several = [r for r in measured if r["iqm"] is not None]
    if not several:
        return [
            f"One seed per row: the rates with {study.top} balls hold for these policies only, "
            "other seeds may reverse the order."
        ]
    best = max(r["iqm"] for r in several)
    named = [r for r in several if r["iqm"] == best]
    rates = "; ".join(
        f"{100 * best:.1f}% no-drop [{short(100 * r['iqm_low'])}, {short(100 * r['iqm_high'])}]"
        for r in named[:1]
    )
    verb = "carry" if len(named) > 1 else "carries"
    return [
        f"{_joined(_label(study, r) for r in named)} {verb} {study.top} balls best: {rates} "
        f"(interquartile mean of {named[0]['seeds']} seeds, 95% interval)."
    ]


def _tested(study: Study, measured: Sequence[Numbers]) -> list[str]:
    """Say which rows surely differ from the baseline, which are as good, and what stays open."""
    base = study.baseline.row.label
    tested = [r for r in measured if r["permutation_p_holm"] is not None]
    if not tested:
        return [f"No other row has several seeds beside {base}: nothing can be tested yet."]
    same = holm([1.0 if r["equivalence_p"] is None else r["equivalence_p"] for r in tested])
    sure = [r for r in tested if r["permutation_p_holm"] <= ALPHA]
    alike = [r for r, p in zip(tested, same, strict=True) if p <= ALPHA and r not in sure]
    open_ = [r for r in tested if r not in sure and r not in alike]
    lines = []
    for word, some in (
        ("worse", [r for r in sure if r["difference"] < 0]),
        ("better", [r for r in sure if r["difference"] >= 0]),
    ):
        if some:
            lines.append(f"Surely {word} than {base}: {_joined(_verdict(study, r) for r in some)}.")
    if not sure:
        nearest = min(tested, key=lambda r: (r["permutation_p_holm"], -abs(r["difference"])))
        lines.append(
            f"No difference from {base} is sure: the smallest p, corrected by Holm, is "
            f"{p_value(nearest['permutation_p_holm'])} ({_label(study, nearest)}, "
            f"{_points(nearest)}).{_bound(study, tested)}"
        )
    if alike:
        lines.append(
            f"As good as {base} within 5 points: {_joined(_label(study, r) for r in alike)}."
        )
    if open_:
        told = _joined(f"{_label(study, r)} ({_gap(r)})" for r in open_)
        lines.append(f"Open, neither a difference from {base} nor equality is shown: {told}.")
    return lines


def _bound(study: Study, tested: Sequence[Numbers]) -> str:
    """Say where the seeds at hand could not have given a smaller p."""
    planned = len(study.cohorts) - 1
    mine = len(study.baseline.counts(study.top, "no_drop"))
    least = min(planned * smallest_p(r["seeds"], mine) for r in tested)
    if least <= ALPHA:
        return ""
    many = f" and {planned} comparisons" if planned > 1 else ""
    return (
        f" With {tested[0]['seeds']} seeds against {mine}{many} no p can be below"
        f" {p_value(min(1.0, least))}: more seeds are needed (table “How many seeds”)."
    )


def _verdict(study: Study, record: Numbers) -> str:
    return (
        f"{_label(study, record)} ({_points(record)}, p = {p_value(record['permutation_p_holm'])})"
    )


def _gap(record: Numbers) -> str:
    return f"{100 * record['difference']:+.1f} points".replace("-", "−")


def _points(record: Numbers) -> str:
    if record["difference_low"] is None:
        return _gap(record)
    low, high = 100 * record["difference_low"], 100 * record["difference_high"]
    return f"{_gap(record)} [{low:+.1f}, {high:+.1f}]".replace("-", "−")


def _first(study: Study, rows: Sequence[Numbers], compared: Sequence[Numbers]) -> list[str]:
    """Name the row that was first at the top level, and how it stands to the baseline."""
    top, base = study.top, study.baseline
    reached = f"reached_{top}"
    learnt = [r for r in rows if r["variant"] in study.cohorts and r.get(reached) is not None]
    most = [r for r in learnt if 2 * r[reached] > r["finished"]]
    times = {r["variant"]: r[f"advance_{top}_restricted_mean"] for r in most}
    if not times:
        return [f"No row reached {top} balls in most of its runs."] if learnt else []
    first = min(times, key=lambda variant: times[variant])
    line = (
        f"{study.cohorts[first].row.label} is first at {top} balls: after {times[first]:,.0f} "
        "iterations (restricted mean)"
    )
    mine = times.get(base.row.variant)
    if first != base.row.variant and mine is not None:
        line += f", {base.row.label} after {mine:,.0f}"
        name = f"{study.cohorts[first].row.label} − {base.row.label}"
        for record in compared:
            if record["comparison"] == name and record["logrank_p_holm"] is not None:
                p = record["logrank_p_holm"]
                line += f" (log-rank p = {p_value(p)}: {'sure' if p <= ALPHA else 'not sure'})"
    slow = [study.cohorts[r["variant"]].row.label for r in learnt if r["variant"] not in times]
    if slow:
        line += f". Most runs of {_joined(slow)} never got there"
    return [f"{line}."]


def _joined(words: Iterable[str]) -> str:
    some = list(words)
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)
