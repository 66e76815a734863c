"""The list of all tables, in the order of the report."""

from analysis.study import Study
from analysis.tables.costs import costs
from analysis.tables.effects import comparisons, effects
from analysis.tables.estimates import estimates, sample_size
from analysis.tables.headline import ablation, encoders
from analysis.tables.model import Line, Table, column, plain
from analysis.tables.paper import beside_the_paper
from analysis.tables.promotion import binding, promotion
from analysis.tables.seeds import learning, rates, runs, seeds
from analysis.tables.settings import hyperparameters, thresholds
from analysis.tables.tactset import tactset


def left_out(study: Study) -> Table:
    """Return the runs that are in no other table, and why."""
    return Table(
        "left-out",
        "Left out",
        "Runs, or evaluations of runs, that are in no other table.",
        [column("Run", align="l"), column("Why", align="p")],
        [Line([plain(item.id), plain(item.reason)]) for item in study.left_out]
        or [Line([plain("none"), plain("every run that was found is compared")])],
        records=[{"run": item.id, "reason": item.reason} for item in study.left_out],
    )


def every_table(study: Study) -> list[Table]:
    """Make all tables that a study has something for."""
    made = [
        encoders, ablation, estimates, sample_size, effects, comparisons, seeds, learning, rates,
        binding, promotion, tactset, beside_the_paper, costs, hyperparameters, thresholds, runs,
        left_out,
    ]  # fmt: skip
    tables = [table for make in made if (table := make(study)) is not None]
    place = 1 + next(i for i, table in enumerate(tables) if table.name == "estimates")
    tables[place:place] = [estimates(study, metric) for metric in study.asked.metrics]
    return tables
