"""Which promotion criteria decide: in training, and of the policies that came out of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.cohort import Cohort
from analysis.frames import Run
from analysis.study import Study
from analysis.tables.model import Cell, Line, Table, column, missing, plain
from s2m.config.curriculum import AT_LEAST, CRITERIA
from s2m.run.criteria import PREFIX

SHORT = {
    "length_ratio": "length", "margin": "margin", "dangerous": "dangerous", "edge": "edge",
    "linear_error": "speed", "yaw_error": "yaw rate",
}  # fmt: skip


def unmet(run: Run, k: int) -> dict[str, float] | None:
    """Return the criteria that the episodes of a run with k balls miss; None without episodes."""
    if k not in run.rates:
        return None
    return _misses(run, k, _measured(run, k))


def _misses(run: Run, k: int, values: Mapping[str, float]) -> dict[str, float]:
    """Return those values that miss the thresholds of a level."""
    asked, found = run.config["curriculum"], {}
    for name, value in values.items():
        limit = asked[name] if name == "length_ratio" else asked[name][k - 1]
        if value < limit if name in AT_LEAST else value > limit:
            found[name] = value
    return found


def bound_by(run: Run, k: int) -> list[str] | None:
    """Return the criteria missed at the last check with k balls before promotion, or at the end.

    None without a check; empty where all were met, and only the level's shortest stay was missing.
    """
    curves, names = run.curves, [f"{PREFIX}{name}" for name in CRITERIA]
    came = run.began(k) if k > run.config["curriculum"]["start"] else 0
    if came is None or not all(name in curves.metrics for name in names):
        return None
    left = run.began(k + 1)
    values = np.stack([curves.metrics[name] for name in names])
    there = (curves.iteration >= came) & (curves.iteration < (np.inf if left is None else left))
    checks = np.flatnonzero(there & np.isfinite(values).all(axis=0))
    if not len(checks):
        return None
    return list(_misses(run, k, dict(zip(CRITERIA, values[:, checks[-1]], strict=True))))


def _measured(run: Run, k: int) -> dict[str, float]:
    return run.rates[k].criteria(run.config["task"]["episode_steps"])


def _cell(cohort: Cohort, k: int) -> Cell:
    """Say how many runs meet all six, and what the others miss."""
    judged = [found for run in cohort.evaluated if (found := unmet(run, k)) is not None]
    if not judged:
        return missing(cohort.unjudged)
    passed = sum(not found for found in judged)
    if passed == len(judged):
        return plain("passes" if passed == 1 else f"{passed}/{passed} pass")
    missed = [name for name in CRITERIA if any(name in found for found in judged)]
    if len(judged) == 1:
        return plain(", ".join(f"{SHORT[name]} {judged[0][name]:.3f}" for name in missed))
    return plain(f"{passed}/{len(judged)}: " + ", ".join(SHORT[name] for name in missed))


def promotion(study: Study) -> Table:
    """Return the comparison of all rows, controls included, with the thresholds."""
    levels = range(1, study.top)
    rows = list(study.every.values())
    return Table(
        "promotion",
        "Promotion criteria of the final policies",
        "Whether the evaluated policies, with k balls, meet the six criteria for k + 1; otherwise "
        "the criteria that are missed (with their values where a row has one run).",
        [column("Row", align="l"), *(column(f"k = {k}", f"$k = {k}$") for k in levels)],
        [
            Line(
                [Cell(cohort.row.label, cohort.row.tex), *(_cell(cohort, k) for k in levels)],
                [run.id for run in cohort.evaluated],
                rule=cohort.row.is_control and not rows[i - 1].row.is_control,
            )
            for i, cohort in enumerate(rows)
        ],
        notes=["Means over the time steps of the evaluation's episodes, as the curriculum's are."],
        records=[_record(run, k) for run in study.runs for k in levels],
    )


def _record(run: Run, k: int) -> dict[str, Any]:
    record: dict[str, Any] = {"variant": run.variant, "seed": run.seed, "k": k}
    found = unmet(run, k)
    if found is None:
        return record | {"passes": None, **dict.fromkeys(CRITERIA)}
    return record | {"passes": not found, **_measured(run, k)}


def binding(study: Study) -> Table:
    """Return what held the runs of every row at each level, in training."""
    levels = range(1, study.top)
    rows = list(study.every.values())
    return Table(
        "binding",
        "Criteria that bound in training",
        "How many runs missed which criterion at the last check before their promotion from k to "
        "k + 1 balls; behind “never”, at the last check of runs that were never promoted. stay: "
        "all six were met before the level's shortest stay was over.",
        [column("Row", align="l"), *(column(f"k = {k}", f"$k = {k}$") for k in levels)],
        [
            Line(
                [Cell(cohort.row.label, cohort.row.tex), *(_bound(cohort, k) for k in levels)],
                [run.id for run in cohort.finished],
                rule=cohort.row.is_control and not rows[i - 1].row.is_control,
            )
            for i, cohort in enumerate(rows)
        ],
        notes=["A run may miss several criteria at once. Criteria that are not named never bound."],
        records=[_reading(run, k) for run in study.runs for k in levels],
    )


def _bound(cohort: Cohort, k: int) -> Cell:
    """Count the criteria that bound, of promoted runs and of others."""
    promoted = _count([run for run in cohort.finished if run.began(k + 1) is not None], k)
    never = _count([run for run in cohort.finished if run.began(k + 1) is None], k)
    if not promoted and not never:
        return plain("–") if cohort.finished else missing(cohort.missing)
    return plain("; ".join([promoted] * bool(promoted) + [f"never: {never}"] * bool(never)))


def _count(runs: Sequence[Run], k: int) -> str:
    found = Counter(
        name
        for run in runs
        if (missed := bound_by(run, k)) is not None
        for name in missed or ["stay"]
    )
    return ", ".join(f"{SHORT.get(name, name)} {n}" for name, n in found.most_common())


def _reading(run: Run, k: int) -> dict[str, Any]:
    found = bound_by(run, k)
    return {
        "variant": run.variant,
        "seed": run.seed,
        "k": k,
        "promoted": run.began(k + 1) is not None,
        "bound": None if found is None else " ".join(found) or "stay",
    }
