"""Differences between cells at the level of seeds, and p-values of a family of tests."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from s2m.run.rates import Interval


class Contrast(NamedTuple):
    """A weighted sum of cell means with its interval."""

    value: float
    interval: Interval
    freedom: float
    """Degrees of freedom; NaN where no cell varies or a cell has one run, and nothing is known."""
    one_sided: bool = False
    """Some cells vary and some do not: the interval knows the spread of the former only."""


def contrast(
    cells: Sequence[Sequence[float]], weights: Sequence[float], level: float = 0.95
) -> Contrast:
    """Return sum(w_i mean(cell_i)) with a Welch interval: each cell has its own spread.

    Weights (1, -1) compare two cells; (1, -1, -1, 1) give the interaction of a 2 x 2 design. A cell
    of one run has no spread to estimate: then the interval is unbounded.
    """
    value = sum(w * float(np.mean(cell)) for cell, w in zip(cells, weights, strict=True))
    if any(len(cell) < 2 for cell in cells):
        return Contrast(value, Interval(-math.inf, math.inf), math.nan)
    parts = [
        w * w * float(np.var(cell, ddof=1)) / len(cell)
        for cell, w in zip(cells, weights, strict=True)
    ]
    variance = sum(parts)
    # Equal values leave rounding behind, not a spread.
    rounding = (1e-9 * max(abs(float(x)) for cell in cells for x in cell)) ** 2
    if variance <= rounding:
        return Contrast(value, Interval(value, value), math.nan)
    freedom = variance**2 / sum(
        part**2 / (len(cell) - 1) for part, cell in zip(parts, cells, strict=True)
    )
    half = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance)
    one_sided = min(parts) <= rounding
    return Contrast(value, Interval(value - half, value + half), freedom, one_sided)


def holm(p_values: Sequence[float], planned: int | None = None) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down rule, in the same order.

    Of `planned` tests those that are not there yet count as if their p-values were the largest.
    """
    family = len(p_values) if planned is None else planned
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (family - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
