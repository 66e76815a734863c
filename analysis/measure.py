"""What rows can be compared by besides the primary metric: any column of metrics or episodes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.cohort import Cohort
from analysis.frames import KRates, Run
from s2m.config.curriculum import CRITERIA
from s2m.console.errors import UserError, unknown
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION
from s2m.run.rates import FLAGS, MEANS, PARTS

FINAL, BEST, LEAST, AREA = HOW = ("final", "best", "least", "area")
END = 0.05
"""The last part of training whose mean is the final value."""
FEW = 5
"""Runs whose metrics are named when one is not known."""
EPISODES = (*FLAGS, *MEANS, *PARTS)
"""Columns of episodes; the mean over all with some number of balls."""
_FORM = re.compile(r"([\w./ -]+?)(?::(\w+)|@(\d))?")


@dataclass(frozen=True)
class Metric:
    """One number per run."""

    column: str
    how: str = FINAL
    """Of a curve: its end, its largest or smallest value, or its mean (area over iterations)."""
    k: int | None = None
    """Of episodes: the number of balls; None: as many as there can be."""

    @property
    def of_episodes(self) -> bool:
        """Whether it is measured in evaluated episodes, not in training."""
        return self.column in EPISODES

    @property
    def name(self) -> str:
        """How it is typed."""
        if self.of_episodes:
            return self.column + (f"@{self.k}" if self.k else "")
        return f"{self.column}:{self.how}"

    @property
    def slug(self) -> str:
        """Its name in files."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def is_rate(self) -> bool:
        """Whether it is a fraction of episodes."""
        return self.column in FLAGS

    def value(self, run: Run, top: int) -> float | None:
        """Return it of a run; None where the run does not have it."""
        if self.of_episodes:
            rates = run.rates.get(self.k or top)
            return None if rates is None else _of_episodes(rates, self.column)
        at, values = run.curves.get(self.column)
        if not len(values):
            return None
        if self.how == FINAL:
            return float(values[at > (1 - END) * at[-1]].mean())
        if self.how == AREA:
            return float(np.trapezoid(values, at) / (at[-1] - at[0])) if len(at) > 1 else values[0]
        return float(values.max() if self.how == BEST else values.min())

    def values(self, cohort: Cohort, top: int) -> np.ndarray:
        """Return it of the finished runs of a row that have it, by seed."""
        found = [self.value(run, top) for run in cohort.finished]
        return np.array([value for value in found if value is not None], dtype=float)


PRIMARY = Metric("no_drop")
"""The paper's: episodes without a drop, with all balls."""


def _of_episodes(rates: KRates, column: str) -> float:
    if column in FLAGS:
        return getattr(rates, column) / rates.n
    if column in MEANS:
        return getattr(rates, column)
    # Steps near the edge and outside are kept as parts of all steps.
    part = CRITERIA[2 + PARTS.index(column)]
    return rates.over_steps[part] * rates.steps


def parse(text: str) -> Metric:
    """Read NAME, NAME:final, NAME:best, NAME:least, NAME:area of a curve, or NAME@K of episodes."""
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise UserError(f"--metric {text}: allowed are NAME[:{'|'.join(HOW)}] and NAME@BALLS")
    column, how, k = form.groups()
    metric = Metric(column, how or FINAL, int(k) if k else None)
    if how and metric.of_episodes:
        raise UserError(f"--metric {text}: {column} is of episodes: NAME or NAME@BALLS")
    if k and not metric.of_episodes:
        raise UserError(f"--metric {text}: {column} is of training: NAME[:{'|'.join(HOW)}]")
    if metric.how not in HOW:
        raise unknown("way to sum up a metric", how, HOW)
    return metric


def require(metrics: Sequence[Metric], runs: Sequence[Run]) -> None:
    """Refuse a metric that no run has, and name those that there are."""
    for metric in metrics:
        if metric.of_episodes or any(metric.column in run.curves.metrics for run in runs):
            continue
        folders = [RunFolder(run.link) for run in runs[:FEW]]
        known = {name for one in folders for name in Journal(one).table().column_names}
        raise unknown("metric", metric.column, [*sorted(known - {ITERATION}), *EPISODES])
