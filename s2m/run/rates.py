"""What the episodes of an evaluation say per number of balls: success rates, promotion measures.

The tables of a study and of a terminal read them here, so that they cannot differ.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from s2m.config.curriculum import CRITERIA

FLAGS = ("strict", "no_drop", "dropped", "fell", "unstable")
MEANS = ("steps", "linear_error", "yaw_error", "minimum_margin")
PARTS = ("near_edge_steps", "outside_steps")
COLUMNS = ("k", *FLAGS, *MEANS, *PARTS)
"""What is read of a table of episodes, which has a row for each."""


class Count(NamedTuple):
    """Successes among n trials."""

    hits: int
    n: int

    @property
    def rate(self) -> float:
        """The share of successes; NaN without trials."""
        return self.hits / self.n if self.n else math.nan


class Interval(NamedTuple):
    """An interval and what lies in it."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        """Tell whether a number lies in the interval, ends included."""
        return isinstance(value, int | float) and self.low <= value <= self.high


def z_value(level: float) -> float:
    """Return the z with which a normal variable lies within +-z at a level."""
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson(count: Count, level: float = 0.95) -> Interval:
    """Return the Wilson score interval: the rates that a two-sided test would not reject.

    Without trials it is [0, 1]. At 0 of n and n of n it still has a width, unlike p +- 2 s.
    """
    if count.n == 0:
        return Interval(0.0, 1.0)
    z = z_value(level)
    n, p = count.n, count.rate
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # The ends at 0 and n are exact; rounding must not push them out of [0, 1].
    low = 0.0 if count.hits == 0 else max(0.0, centre - half)
    high = 1.0 if count.hits == n else min(1.0, centre + half)
    return Interval(low, high)


@dataclass(frozen=True)
class Rates:
    """The episodes of one policy at one number of balls, summed up."""

    n: int
    strict: int
    no_drop: int
    dropped: int
    fell: int
    unstable: int
    steps: float
    """Mean steps survived."""
    linear_error: float
    yaw_error: float
    minimum_margin: float
    """All three: means over the steps of an episode, then over episodes."""
    over_steps: Mapping[str, float]
    """By `CRITERIA` after the first: means over the steps of all episodes together."""

    def count(self, metric: str) -> Count:
        """Return the successes by a metric, `strict` or `no_drop`."""
        return Count(getattr(self, metric), self.n)

    def successes(self) -> dict[str, int]:
        """Return what the result of an evaluation says of these episodes."""
        return {"n": self.n, "strict": self.strict, "no_drop": self.no_drop}

    def criteria(self, episode_steps: int) -> dict[str, float]:
        """Return the six measures by `CRITERIA`, as the curriculum computes them in its window."""
        return {CRITERIA[0]: self.steps / episode_steps, **self.over_steps}


def rates_by_balls(table: Mapping[str, np.ndarray]) -> dict[int, Rates]:
    """Sum up the `COLUMNS` of a table of episodes per number of balls, the fewest first."""
    k, which = np.unique(table["k"], return_inverse=True)
    n, length = np.bincount(which), table["steps"]

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(which, weights=values)

    columns = {name: total(table[name]) for name in FLAGS}
    columns |= {name: total(table[name]) / n for name in MEANS}
    margin, linear, yaw = (
        total(table[name] * length) / total(length)
        for name in ("minimum_margin", "linear_error", "yaw_error")
    )
    dangerous, edge = (total(table[name]) / total(length) for name in PARTS)
    over_steps = dict(zip(CRITERIA[1:], (margin, dangerous, edge, linear, yaw), strict=True))
    found = {}
    for i, balls in enumerate(k):
        values: dict[str, Any] = {name: float(column[i]) for name, column in columns.items()}
        values |= {name: int(values[name]) for name in FLAGS}
        values["over_steps"] = {name: float(column[i]) for name, column in over_steps.items()}
        found[int(balls)] = Rates(n=int(n[i]), **values)
    return found


def rates_of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[int, Rates]:
    """Sum up episodes that are given as rows."""
    return rates_by_balls({name: np.array([row[name] for row in rows]) for name in COLUMNS})
