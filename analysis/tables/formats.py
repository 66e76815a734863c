"""How numbers of one or several runs read in a cell.

Round brackets always hold the range over seeds, square brackets a 95 % interval over episodes: the
two kinds of uncertainty never share a bracket.
"""

import math
import statistics
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from analysis.stats import survival
from analysis.stats.survival import Time
from analysis.tables.model import Cell, plain, stacked
from s2m.run.rates import Count, Interval, wilson

THOUSANDS = 10_000
"""Budgets from here on show iterations in thousands, as the paper does."""
NOT_REACHED = Cell("—", "---")


def short(value: float) -> str:
    """Return a number with one decimal, none if it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def percent(share: float) -> Cell:
    """Return a share in percent."""
    return Cell(f"{short(100 * share)}%", rf"${short(100 * share)}\%$")


def bracket(interval: Interval) -> str:
    """Return an interval in whole percent: [93, 99]."""
    return f"[{100 * interval.low:.0f}, {100 * interval.high:.0f}]"


def rate(counts: Sequence[Count], finished: int | None = None) -> Cell:
    """Return a success rate: of one run with its Wilson interval, of several as mean and range.

    The interval speaks about other episodes of the same policy, the range about other seeds. Where
    there are more `finished` runs, the cell says how many have a rate.
    """
    part = _part(len(counts), finished)
    if len(counts) == 1:
        value = percent(counts[0].rate)
        interval = bracket(wilson(counts[0]))
        return stacked(value, f"{interval} ({part})" if part else interval)
    rates = [count.rate for count in counts]
    value = percent(statistics.fmean(rates))
    ends = f"{short(100 * min(rates))}–{short(100 * max(rates))}"
    return stacked(value, f"({ends}; {part})" if part else f"({ends})")


def _part(n: int, finished: int | None) -> str:
    """Return how many of the finished runs a number rests on; nothing if on all."""
    return "" if finished in (None, n) else f"{n}/{finished}"


def level(values: Sequence[int], top: int | None = None, finished: int | None = None) -> Cell:
    """Return the highest level: one number where all runs agree, else median and range.

    With a `top` runs that all stalled below it read "≤ 2", as in the paper. `finished`: see `rate`.
    """
    part = _part(len(values), finished)
    middle = statistics.median_low(values)
    value = Cell(str(middle), f"${middle}$")
    if min(values) != max(values):
        ends = f"{min(values)}–{max(values)}"
        return stacked(value, f"({ends}; {part})" if part else f"({ends})")
    if part:
        return stacked(value, f"({part})")
    if top is not None and middle < top:
        return Cell(f"≤ {middle}", rf"$\le {middle}$")
    return value


def iterations(value: float, budget: int) -> Cell:
    """Return a number of iterations, in thousands at a large budget."""
    if budget >= THOUSANDS:
        return Cell(f"~{value / 1000:.1f}k", rf"${{\sim}}{value / 1000:.1f}$k")
    return Cell(f"{value:.0f}", f"${value:.0f}$")


def advancement(times: Sequence[Time], budget: int) -> Cell:
    """Return iterations to a level: of one run as it is, of several as restricted mean.

    A run that never arrived counts its budget, so that the mean is at least that. Behind it: the
    range over seeds (open where a run never arrived) and how many arrived.
    """
    if len(times) == 1:
        return iterations(times[0].iteration, budget) if times[0].reached else NOT_REACHED
    arrived = sum(time.reached for time in times)
    reached = f"{arrived}/{len(times)}"
    if not arrived:
        return stacked(NOT_REACHED, f"({reached})")
    value = iterations(survival.restricted_mean(times, budget), budget)
    if arrived < len(times):
        value = Cell(f"≥ {value.text}", rf"$\ge$ {value.tex}")
    ends = [min(t.iteration for t in times), max(t.iteration for t in times)]
    if budget >= THOUSANDS:
        low, high = (f"{end / 1000:.1f}" for end in ends)
    else:
        low, high = (f"{end:.0f}" for end in ends)
    open_end = ">" if arrived < len(times) else ""
    return stacked(value, f"({low}–{open_end}{high}; {reached})")


def p_value(p: float) -> str:
    """Return a p-value with two significant digits."""
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"


def signed(
    value: float,
    interval: Interval,
    bound: float,
    scale: float = 1,
    digits: int = 0,
    mark: str = "",
) -> Cell:
    """Return a difference with its interval, cut at the largest difference there can be.

    A mark behind the interval refers to a note.
    """

    def number(x: float, sign: str = "") -> str:
        # A mean of rates may be 8.75 or 8.7499999: both are 8.8. Adding zero turns -0.0 into 0.0.
        exact = Decimal(repr(round(scale * x, 9)))
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) + 0
        return f"{rounded:{sign}}".replace("-", "−")

    difference = plain(number(value, "+"))
    if math.isinf(interval.low):
        return stacked(difference, "[one seed]")
    if interval.low == interval.high:
        return stacked(difference, "[no spread]")
    low, high = max(interval.low, -bound), min(interval.high, bound)
    return stacked(difference, f"[{number(low)}, {number(high)}]{mark}")


def hours(seconds: float) -> str:
    """Return a duration in the unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
