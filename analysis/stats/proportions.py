"""Success rates: how far a share of episodes (or of seeds) can be trusted.

Everything here treats trials as independent: right for the episodes of one policy, and for seeds,
but not for the pooled episodes of several policies, which resemble each other within a policy. Only
`newcombe_paired` knows that two policies had the same trials.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from scipy.special import stdtrit

from s2m.run.rates import Count, Interval, wilson, z_value


def combination(
    counts: Sequence[Count], weights: Sequence[float], level: float = 0.95
) -> tuple[float, Interval]:
    """Return sum(w_i p_i) and its interval, made of the Wilson intervals of the p_i (MOVER).

    Weights (1, -1) give Newcombe's interval of a difference, (1, -1, -1, 1) the interaction of a
    2 x 2 table: the difference of two differences.
    """
    below = above = value = 0.0
    for count, weight in zip(counts, weights, strict=True):
        low, high = wilson(count, level)
        value += weight * count.rate
        down, up = (low, high) if weight > 0 else (high, low)
        below += (weight * (count.rate - down)) ** 2
        above += (weight * (up - count.rate)) ** 2
    return value, Interval(value - math.sqrt(below), value + math.sqrt(above))


def newcombe(a: Count, b: Count, level: float = 0.95) -> tuple[float, Interval]:
    """Return the difference of two rates, a - b, and Newcombe's hybrid score interval."""
    return combination((a, b), (1, -1), level)


class Pairs(NamedTuple):
    """Trials that two policies had in common, by who succeeded."""

    both: int
    first: int
    second: int
    neither: int


def newcombe_paired(pairs: Pairs, level: float = 0.95) -> tuple[float, Interval]:
    """Return the difference of two rates over the same trials and Newcombe's interval for pairs.

    His method 10 (Statistics in Medicine 17, 2635-2650): as for independent rates, less what the
    two have in common by their correlation phi.
    """
    n = sum(pairs)
    a, b = Count(pairs.both + pairs.first, n), Count(pairs.both + pairs.second, n)
    ends_a, ends_b = wilson(a, level), wilson(b, level)
    phi = _phi(pairs)

    def apart(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))

    value = (pairs.first - pairs.second) / n
    below = apart(a.rate - ends_a.low, ends_b.high - b.rate)
    above = apart(ends_a.high - a.rate, b.rate - ends_b.low)
    return value, Interval(value - below, value + above)


def _phi(pairs: Pairs) -> float:
    """Return the correlation of two policies; a positive one is corrected for continuity."""
    both, first, second, neither = pairs
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    if product == 0:
        return 0.0
    shared = both * neither - first * second
    if shared > 0:
        shared = max(0.0, shared - sum(pairs) / 2)
    return shared / math.sqrt(product)


def fisher(a: Count, b: Count) -> float:
    """Return Fisher's exact two-sided p-value: tables at most as likely as the one seen."""
    hits, total = a.hits + b.hits, a.n + b.n

    def ways(x: int) -> int:
        return math.comb(a.n, x) * math.comb(b.n, hits - x)

    seen = ways(a.hits)
    possible = range(max(0, hits - b.n), min(hits, a.n) + 1)
    return sum(ways(x) for x in possible if ways(x) <= seen) / math.comb(total, hits)


def new_run(counts: Sequence[Count], n: int, level: float = 0.95) -> Interval:
    """Return where the rate of one more run lies, judged in n episodes: a prediction interval.

    Runs differ by their seed, and n episodes say little more than the runs' own: both are added on
    the arcsine scale of Anscombe, on which the chance of episodes is the same at all rates.
    """
    seen = [math.asin(math.sqrt((c.hits + 3 / 8) / (c.n + 3 / 4))) for c in counts]
    m = len(seen)
    if m < 2:
        raise ValueError("one run does not tell how runs differ")
    centre = sum(seen) / m
    spread = sum((x - centre) ** 2 for x in seen) / (m - 1)
    chance = sum(1 / (4 * c.n + 2) for c in counts) / m
    between = max(0.0, spread - chance)
    variance = between * (1 + 1 / m) + chance / m + 1 / (4 * n + 2)
    half = float(stdtrit(m - 1, (1 + level) / 2)) * math.sqrt(variance)
    low, high = max(0.0, centre - half), min(math.pi / 2, centre + half)

    def back(x: float) -> float:
        return min(1.0, max(0.0, (math.sin(x) ** 2 * (n + 3 / 4) - 3 / 8) / n))

    return Interval(back(low), back(high))


def episodes_needed(p: float, q: float, power: float = 0.8, level: float = 0.95) -> int:
    """Return how many trials each of two rates needs to be told apart with this power."""
    if p == q:
        raise ValueError("equal rates cannot be told apart by any number of trials")
    middle = (p + q) / 2
    pooled = z_value(level) * math.sqrt(2 * middle * (1 - middle))
    apart = NormalDist().inv_cdf(power) * math.sqrt(p * (1 - p) + q * (1 - q))
    return math.ceil(((pooled + apart) / (p - q)) ** 2)
