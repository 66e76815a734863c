"""Which of the promotion criteria the evaluated policies meet: what holds a row back, per level."""

from typing import Any

from analysis.cohort import Cohort
from analysis.frames import Run
from analysis.study import Study
from analysis.tables.model import Cell, Line, Table, column, missing, plain
from s2m.config.curriculum import AT_LEAST, CRITERIA

SHORT = {
    "length_ratio": "length", "margin": "margin", "dangerous": "dangerous", "edge": "edge",
    "linear_error": "speed", "yaw_error": "yaw rate",
}  # fmt: skip


def unmet(run: Run, k: int) -> dict[str, float] | None:
    """Return the criteria that the episodes of a run with k balls miss; None without episodes."""
    if k not in run.rates:
        return None
    asked, found = run.config["curriculum"], {}
    for name, value in _measured(run, k).items():
        limit = asked[name] if name == "length_ratio" else asked[name][k - 1]
        if value < limit if name in AT_LEAST else value > limit:
            found[name] = value
    return found


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
