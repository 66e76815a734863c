"""The runs of one table row, and what they say together."""

from collections import Counter
from dataclasses import dataclass

from analysis.frames import LEFT_OUT, NOT_EVALUATED, Run
from analysis.rows import Row
from analysis.stats.survival import Time
from s2m.run.rates import Count
from s2m.run.status import FAILED, FINISHED, PENDING, RUNNING, STOPPED

ETA = 0.5
"""Success rate that counts as mastering k balls (K_eta); the paper gives no value."""


@dataclass(frozen=True)
class Cohort:
    """All runs of one variant that may be compared, by seed.

    Only finished runs enter a statistic: a failed or unfinished run says neither when it would have
    reached a level nor that it would not have.
    """

    row: Row
    runs: list[Run]

    @property
    def finished(self) -> list[Run]:
        """The runs that have spent their budget."""
        return [run for run in self.runs if run.state == FINISHED]

    @property
    def evaluated(self) -> list[Run]:
        """The finished runs whose policies were evaluated."""
        return [run for run in self.finished if run.evaluation is not None]

    @property
    def missing(self) -> str:
        """The word for a cell without any finished run."""
        states = {run.state for run in self.runs}
        return next((state for state in (RUNNING, STOPPED, FAILED) if state in states), PENDING)

    @property
    def unjudged(self) -> str:
        """The word for a cell of rates that no run has."""
        if not self.finished:
            return self.missing
        states = {run.missing for run in self.finished}
        order = (RUNNING, FAILED, PENDING, LEFT_OUT)
        return next((state for state in order if state in states), NOT_EVALUATED)

    @property
    def progress(self) -> str:
        """How many runs are finished, and where the others stand: "3/5, 1 running, 1 failed"."""
        counts = Counter(run.state for run in self.runs)
        rest = [
            f"{counts[state]} {state}"
            for state in (RUNNING, STOPPED, FAILED, PENDING)
            if counts[state]
        ]
        return ", ".join([f"{len(self.finished)}/{len(self.runs)}", *rest])

    def times(self, k: int) -> list[Time]:
        """Return when each finished run reached k balls, or its budget if it never did."""
        found = ((run.began(k), run.budget) for run in self.finished)
        return [Time(budget if at is None else at, at is not None) for at, budget in found]

    def counts(self, k: int, metric: str) -> list[Count]:
        """Return the successes of each evaluated run at k balls, by seed."""
        return [run.rates[k].count(metric) for run in self.evaluated if k in run.rates]

    def pooled(self, k: int, metric: str) -> Count:
        """Return the successes over the episodes of all runs together."""
        counts = self.counts(k, metric)
        return Count(sum(c.hits for c in counts), sum(c.n for c in counts))

    def levels(self) -> list[int]:
        """Return the highest level that each finished run reached (K_max)."""
        return [run.level for run in self.finished]

    def mastered(self, top: int) -> list[int]:
        """Return the largest k with a no-drop rate of at least eta per run (K_eta).

        Runs that were not evaluated with every number of balls up to the top have none.
        """
        found = []
        for run in self.evaluated:
            if not run.rates.keys() >= set(range(1, top + 1)):
                continue
            good = [k for k, rate in run.rates.items() if rate.count("no_drop").rate >= ETA]
            found.append(max(good, default=0))
        return found
