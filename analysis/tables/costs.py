"""What an encoder costs: parameters and wall clock."""

import statistics

from analysis.study import Study
from analysis.tables.encoders import names
from analysis.tables.formats import hours
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
        records=records,
    )  # fmt: skip


def _spread(spent: list[float]) -> str:
    if not spent:
        return "—"
    middle = hours(statistics.median(spent))
    return middle if len(spent) == 1 else f"{middle} ({hours(min(spent))}–{hours(max(spent))})"
