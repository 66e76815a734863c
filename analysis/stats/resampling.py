"""What a few seeds say of a method: the estimands of Agarwal et al. (NeurIPS 2021).

Scores are an array (runs, tasks), one task per number of balls. Bootstraps draw whole runs with
replacement, from each task by itself (stratified), from a fixed seed.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from s2m.run.rates import Interval

DRAWN = 10_000
"""Bootstrap samples: the ends of an interval of rates move by less than 0.2 points beyond."""

FEW = 20
"""Runs up to which ten times as many are drawn where that is needed and cheap."""


class Estimate(NamedTuple):
    """A number and its bootstrap interval."""

    value: float
    interval: Interval


Statistic = Callable[[np.ndarray], np.ndarray]
"""Scores (samples, runs, tasks) to one number per sample."""


def iqm(scores: np.ndarray) -> np.ndarray:
    """Return the interquartile mean over runs and tasks: a quarter cut off at either end.

    `scores` (..., runs, tasks). As in scipy's trim_mean, a part of a value is not cut off: of five
    values the smallest and the largest go.
    """
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    return flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)


def mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean over runs and tasks of (..., runs, tasks)."""
    return scores.mean(axis=(-2, -1))


def stratified(
    scores: np.ndarray, statistic: Statistic = iqm, level: float = 0.95, drawn: int = DRAWN
) -> Estimate:
    """Return a statistic of (runs, tasks) with its percentile interval over drawn runs."""
    samples = statistic(_resample(scores, drawn, np.random.default_rng(0)))
    return Estimate(float(statistic(scores[None])[0]), _ends(samples, level))


def improvement(a: np.ndarray, b: np.ndarray, level: float = 0.95) -> Estimate:
    """Return the probability that a run of `a` scores higher than one of `b`, ties by half.

    Both are (runs, tasks) of the same tasks; the mean over tasks is returned.
    """
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"scores of {a.shape[1]} and of {b.shape[1]} tasks cannot be compared")
    # Pairs of a few runs give few different values: the ends jump unless many are drawn.
    drawn = 10 * DRAWN if max(len(a), len(b)) <= FEW else DRAWN
    values, samples = [], np.zeros(drawn)
    for task in range(a.shape[1]):
        above = (np.sign(a[:, None, task] - b[None, :, task]) + 1) / 2
        values.append(above.mean())
        # Drawn runs are weights on the pairs: all pairs of all samples would take gigabytes.
        mine, theirs = (_shares(len(x), drawn, 2 * task + i) for i, x in enumerate((a, b), start=1))
        samples += np.einsum("bi,bi->b", mine @ above, theirs) / a.shape[1]
    return Estimate(float(np.mean(values)), _ends(samples, level))


def profile(
    scores: np.ndarray, limits: np.ndarray, level: float = 0.95, drawn: int = 2000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the fraction of runs and tasks that score above each limit, and both ends of a band.

    The band is pointwise.
    """
    drawn_scores = _resample(scores, drawn, np.random.default_rng(0))
    flat = np.sort(drawn_scores.reshape(drawn, -1), axis=1)
    samples = np.stack([(flat > limit).mean(axis=1) for limit in limits], axis=1)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (scores.reshape(-1, 1) > limits).mean(axis=0), low, high


def crossed(
    cells: Sequence[np.ndarray],
    weights: Sequence[float] = (1, -1),
    level: float = 0.95,
    drawn: int = DRAWN,
) -> Estimate:
    """Return a weighted sum of mean successes, over seeds and starts drawn at once.

    Each cell (seeds, starts) holds 1 where a policy succeeded from a start; all were judged from
    the same starts, so a drawn start is drawn for all. The interval speaks about other seeds and
    other starts; pooled episodes would speak about these very policies only. Weights (1, -1)
    compare two cells, (1, -1, -1, 1) give the interaction of a 2 x 2.
    """
    starts = cells[0].shape[1]
    if any(kept.shape[1] != starts for kept in cells):
        counts = " and ".join(str(kept.shape[1]) for kept in cells)
        raise ValueError(f"{counts} starts: all need the same ones")
    chosen = _shares(starts, drawn, 0)
    total, value = np.zeros(drawn), 0.0
    for i, (kept, weight) in enumerate(zip(cells, weights, strict=True), start=1):
        seeds = _shares(len(kept), drawn, i)
        total += weight * np.einsum("bi,bi->b", seeds, chosen @ kept.T.astype(float))
        value += weight * float(kept.mean())
    return Estimate(value, _ends(total, level))


@lru_cache(maxsize=16)
def _shares(n: int, drawn: int, stream: int) -> np.ndarray:
    """Return how often each of n was drawn with replacement, as shares (drawn, n)."""
    generator = np.random.default_rng((stream, n))
    return generator.multinomial(n, np.full(n, 1 / n), size=drawn) / n


def _resample(scores: np.ndarray, drawn: int, generator: np.random.Generator) -> np.ndarray:
    """Return samples (drawn, runs, tasks), each task drawn by itself."""
    runs, tasks = scores.shape
    chosen = generator.integers(runs, size=(drawn, runs, tasks))
    return scores[chosen, np.arange(tasks)]


def _ends(samples: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
