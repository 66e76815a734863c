"""Iterations to a level as right-censored data: a run that never got there still says "not before".

Every run of a comparison has the same budget, so a run that did not reach a level is censored at
that budget. The functions also hold for runs censored at different times.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

EXACT = 200_000
"""Largest number of labellings that are all tried."""

DRAWN = 20_000
"""Labellings drawn where there are more."""

AT_ONCE = 2_000_000
"""Numbers that are shuffled at a time: thousands of runs would otherwise take gigabytes."""


class Time(NamedTuple):
    """When a run reached the level, or up to when it had not."""

    iteration: float
    reached: bool


class Curve(NamedTuple):
    """The share that has not reached the level: `share[i]` from `iteration[i]` on, 1 before."""

    iteration: tuple[float, ...]
    share: tuple[float, ...]


def kaplan_meier(times: Iterable[Time]) -> Curve:
    """Estimate the share of runs that have not reached the level, over the iterations."""
    steps: list[float] = []
    shares: list[float] = []
    left = 1.0
    for at, events, at_risk in _arrivals(list(times)):
        left *= 1 - events / at_risk
        steps.append(at)
        shares.append(left)
    return Curve(tuple(steps), tuple(shares))


def _arrivals(times: Sequence[Time]) -> Iterator[tuple[float, int, int]]:
    """Yield every iteration at which runs arrive, how many do, and how many had not before."""
    events = Counter(time.iteration for time in times if time.reached)
    ends = sorted(time.iteration for time in times)
    for at in sorted(events):
        yield at, events[at], len(ends) - bisect_left(ends, at)


def median(times: Iterable[Time]) -> float | None:
    """Return the first iteration at which more than half have arrived; None if that never was.

    Of an even number of runs this is the later of the two in the middle: the level that half of
    them have is not the median level either (`statistics.median_low`).
    """
    curve = kaplan_meier(times)
    # 1 - 1/2 - 1/4 ... leaves rounding behind: a share of one half counts as half.
    arrived = (at for at, share in zip(*curve, strict=True) if share < 0.5 - 1e-12)
    return next(arrived, None)


def restricted_mean(times: Iterable[Time], upto: float) -> float:
    """Return the mean iterations to the level, no run counting more than `upto`.

    This is the area under the Kaplan-Meier curve up to there, and a number even if some, or all,
    never arrive.
    """
    curve = kaplan_meier(times)
    area, before, share = 0.0, 0.0, 1.0
    for at, left in zip(*curve, strict=True):
        if at >= upto:
            break
        area += share * (at - before)
        before, share = at, left
    return area + share * (upto - before)


def scores(times: Iterable[Time]) -> np.ndarray:
    """Return each run's log-rank score: its event minus the hazard it has lived through.

    The sum over one group is the observed minus the expected number of arrivals in it.
    """
    times = list(times)
    steps, hazard = [], [0.0]
    for at, events, at_risk in _arrivals(times):
        steps.append(at)
        hazard.append(hazard[-1] + events / at_risk)
    lived = [hazard[bisect_right(steps, time.iteration)] for time in times]
    return np.array([float(t.reached) for t in times]) - np.array(lived)


def logrank(a: Iterable[Time], b: Iterable[Time]) -> float:
    """Return the two-sided p-value of the log-rank test over all ways to label the runs.

    Exact: the share of labellings whose observed-minus-expected arrivals are at least as far from
    zero. With more than `EXACT` labellings, `DRAWN` are drawn from a fixed seed instead.
    """
    a, b = list(a), list(b)
    score = scores([*a, *b])
    seen = abs(score[: len(a)].sum()) - 1e-9
    if is_exact(len(a), len(b)):
        chosen = np.array(list(combinations(range(len(score)), len(a))), dtype=np.intp)
        return float(np.mean(np.abs(score[chosen].sum(axis=1)) >= seen))
    generator = np.random.default_rng(0)
    drawn = np.empty(DRAWN)
    rows = max(1, AT_ONCE // len(score))
    for start in range(0, DRAWN, rows):
        part = np.tile(score, (min(rows, DRAWN - start), 1))
        shuffled = generator.permuted(part, axis=1)[:, : len(a)]
        drawn[start : start + rows] = shuffled.sum(axis=1)
    # The labelling seen is one of them: a drawn p-value is never zero.
    return float((1 + np.sum(np.abs(drawn) >= seen)) / (DRAWN + 1))


def is_exact(a: int, b: int) -> bool:
    """Tell whether all labellings of groups of these sizes are tried."""
    return math.comb(a + b, a) <= EXACT


def smallest_p(a: int, b: int) -> float:
    """Return the least p-value that `logrank` can give to groups of these sizes."""
    if not is_exact(a, b):
        return 1 / (DRAWN + 1)
    ways = math.comb(a + b, a)
    return min(1.0, (2 if a == b else 1) / ways)


def range_coverage(n: int) -> float:
    """Return how surely the range of n runs holds the median of all runs one could make."""
    return 1 - 2.0 ** (1 - n) if n else 0.0
