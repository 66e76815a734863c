"""What an encoder costs: parameters and wall clock."""

import statistics

from analysis.study import Study
from analysis.tables.formats import hours
from analysis.tables.headline import names
from analysis.tables.model import Cell, Line, Table, column, missing, plain


def costs(study: Study) -> Table:
    """Return parameter counts and training times per variant."""
    budget = study.config["budget"] if study.config else {}
    samples = budget.get("num_envs", 0) * budget.get("steps", 0)
    lines, records = [], []
    for cohort in study.cohorts.values():
        runs = cohort.finished
        encoder = sorted({run.encoder_parameters for run in runs if run.encoder_parameters})
        actor = sorted({run.actor_parameters for run in runs if run.actor_parameters})
        spent = [run.seconds for run in runs if run.seconds]
        cells = [missing(cohort.missing)] * 4
        per_iteration = None
        if runs:
            per_iteration = statistics.median(spent) / study.budget if spent else None
            cells = [
                plain(" or ".join(f"{n:,}" for n in encoder) or "—"),
                plain(" or ".join(f"{n:,}" for n in actor) or "—"),
                plain(_spread(spent)),
                plain(f"{samples / per_iteration:,.0f}" if per_iteration else "—"),
            ]
        lines.append(Line([Cell(cohort.row.label, cohort.row.tex), *cells], names(cohort)))
        records.append(
            {
                "variant": cohort.row.variant,
                "encoder_parameters": " ".join(map(str, encoder)),
                "actor_parameters": " ".join(map(str, actor)),
                "seconds_median": statistics.median(spent) if spent else None,
                "seconds_min": min(spent, default=None),
                "seconds_max": max(spent, default=None),
                "samples_per_second": samples / per_iteration if per_iteration else None,
                "runs": " ".join(names(cohort)),
            }
        )
    return Table(
        "costs",
        "Costs",
        "Parameters and training time per run; several seeds: median and, in round brackets, "
        "range. Times depend on the machine and on what else ran on it.",
        [
            column("Encoder", align="l"), column("encoder parameters", align="r"),
            column("actor parameters", align="r"), column("wall clock", align="r"),
            column("samples/s", align="r"),
        ],
        lines,
        notes=_total(study),
        records=records,
    )  # fmt: skip


def _total(study: Study) -> list[str]:
    """Say what all runs took together, controls included, and from which code they come."""
    runs = [run for cohort in study.every.values() for run in cohort.finished]
    if not runs:
        return []
    spent = sum(run.seconds or 0.0 for run in runs)
    plural = "s" if len(study.commits) > 1 else ""
    # A + behind a commit says that the code differed from it.
    commits = ", ".join(c[:10] + "+" * c.endswith("+") for c in study.commits)
    return [
        f"{len(runs)} finished runs, controls included: {hours(spent)} of wall clock in all, one "
        f"run after the other; code of commit{plural} {commits}."
    ]


def _spread(spent: list[float]) -> str:
    if not spent:
        return "—"
    middle = hours(statistics.median(spent))
    return middle if len(spent) == 1 else f"{middle} ({hours(min(spent))}–{hours(max(spent))})"
