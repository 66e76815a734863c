"""Tests with seeds as units: exact permutation of labels, equivalence, and their power."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from analysis.stats.contrasts import contrast
from analysis.stats.survival import AT_ONCE, DRAWN, is_exact
from s2m.run.rates import Count

Values = Sequence[float] | np.ndarray
"""One number per run."""
STUDIES = 2000
"""Simulated studies behind a power: its standard error is at most 1.1 points."""
TRIED = 1000
"""Labellings that are tried for each simulated study."""


def permutation(a: Values, b: Values) -> float:
    """Return the two-sided p-value of the difference of means over all ways to label the runs.

    Exact: the fraction of labellings whose means are at least as far apart. Of more labellings than
    can be tried, some are drawn from a fixed seed.
    """
    values = np.array([*a, *b], dtype=float)
    values -= values.mean()
    seen = abs(values[: len(a)].sum()) - 1e-9 * max(1.0, float(np.abs(values).max()))
    if is_exact(len(a), len(b)):
        sums = values[_labellings(len(a), len(values))].sum(axis=1)
        return float(np.mean(np.abs(sums) >= seen))
    generator, found = np.random.default_rng(0), 0
    rows = max(1, AT_ONCE // len(values))
    for start in range(0, DRAWN, rows):
        part = np.tile(values, (min(rows, DRAWN - start), 1))
        sums = generator.permuted(part, axis=1)[:, : len(a)].sum(axis=1)
        found += int(np.sum(np.abs(sums) >= seen))
    # The labelling seen is one of them: a drawn p-value is never zero.
    return (1 + found) / (DRAWN + 1)


def welch(cells: Sequence[Sequence[float]], weights: Sequence[float]) -> float | None:
    """Return the two-sided p-value of a weighted sum of means being zero, by Welch's t.

    For the interaction of a 2 x 2: labels cannot be exchanged there without assuming that neither
    setting has an effect of its own. None where no spread can be estimated.
    """
    found = contrast(cells, weights)
    if math.isnan(found.freedom):
        return None
    return float(2 * stdtr(found.freedom, -abs(found.value) / _error(cells, weights)))


def equivalence(a: Sequence[float], b: Sequence[float], margin: float) -> float | None:
    """Return the p-value of two one-sided Welch tests (TOST) that the means lie within a margin.

    Small: |mean a - mean b| < margin. None where no spread can be estimated.
    """
    found = contrast((a, b), (1, -1))
    if math.isnan(found.freedom):
        return None
    error = _error((a, b), (1, -1))
    return float(stdtr(found.freedom, (abs(found.value) - margin) / error))


def _error(cells: Sequence[Sequence[float]], weights: Sequence[float]) -> float:
    pairs = zip(cells, weights, strict=True)
    return math.sqrt(sum(w * w * float(np.var(cell, ddof=1)) / len(cell) for cell, w in pairs))


def power(
    a: Sequence[Count], b: Sequence[Count], seeds: int, alpha: float, studies: int = STUDIES
) -> float:
    """Return how often `seeds` runs per side would give a permutation p of at most alpha.

    A simulation with beta-binomial counts; `a` and `b` are those of the runs at hand. Few runs know
    their spread badly, and so is the power known.
    """
    generator = np.random.default_rng(0)
    one, two = (_rates(counts, (studies, seeds), generator) for counts in (a, b))
    return float(np.mean(p_values(one, two) <= alpha + 1e-9))


def spread(counts: Sequence[Count]) -> tuple[float, float]:
    """Return the mean of the seeds' true rates, and their variance without that of the episodes.

    By moments: the rates at hand vary by tau² + (m (1 - m) - tau²) / n, with n episodes each. What
    is left is never below zero, where seeds differ by less than their episodes alone would let
    them, and never above m (1 - m), where each seed succeeds always or never.
    """
    rates = np.array([count.rate for count in counts])
    n = float(np.mean([count.n for count in counts]))
    mean = float(rates.mean())
    most = mean * (1 - mean)
    own = (float(rates.var(ddof=1)) - most / n) / (1 - 1 / n) if n > 1 else 0.0
    return mean, min(max(own, 0.0), most)


def _rates(
    counts: Sequence[Count], shape: tuple[int, int], generator: np.random.Generator
) -> np.ndarray:
    """Return rates of other seeds: true ones from a Beta distribution, and episodes of each."""
    mean, variance = spread(counts)
    most = mean * (1 - mean)
    if variance <= 1e-12:
        true = np.full(shape, mean)
    elif variance >= most - 1e-12:
        true = (generator.random(shape) < mean).astype(float)
    else:
        size = most / variance - 1
        true = generator.beta(mean * size, (1 - mean) * size, shape)
    n = round(float(np.mean([count.n for count in counts])))
    return generator.binomial(n, true) / n


def p_values(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return the `permutation` p-values of many studies (studies, seeds) with equal sides.

    Up to `TRIED` labellings are all tried, of more as many are drawn.
    """
    n = one.shape[1]
    values = np.concatenate([one, two], axis=1)
    # Equal values leave rounding behind, not a difference.
    rounding = 1e-9 * np.abs(values).max(axis=1, keepdims=True) + 1e-30
    values -= values.mean(axis=1, keepdims=True)
    scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e6 * rounding)
    values = (values / scale).astype(np.float32)
    exact = math.comb(2 * n, n) <= TRIED
    chosen = _labellings(n, 2 * n) if exact else _drawn_labellings(n)
    picked = np.zeros((len(chosen), 2 * n), dtype=np.float32)
    np.put_along_axis(picked, chosen, np.float32(1), axis=1)
    seen = np.abs(values[:, :n].sum(axis=1, keepdims=True)) - 1e-5
    found = np.empty(len(values))
    rows = max(1, AT_ONCE // len(chosen))
    for start in range(0, len(values), rows):
        part = slice(start, start + rows)
        found[part] = (np.abs(values[part] @ picked.T) >= seen[part]).sum(axis=1)
    return found / len(chosen) if exact else (1 + found) / (1 + len(chosen))


@cache
def _labellings(chosen: int, total: int) -> np.ndarray:
    return np.array(list(combinations(range(total), chosen)), dtype=np.intp)


@cache
def _drawn_labellings(n: int) -> np.ndarray:
    places = np.tile(np.arange(2 * n), (TRIED, 1))
    return np.random.default_rng(1).permuted(places, axis=1)[:, :n]
