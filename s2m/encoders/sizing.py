"""Choose an encoder's two free sizes so that it has as many parameters as another."""

from collections.abc import Callable

from s2m.console.errors import UserError

TOLERANCE = 0.05
"""Largest relative deviation of a parameter count from its budget."""


def fit(count: Callable[[int, int], int], budget: int, step: int = 1) -> tuple[int, int]:
    """Return (width, readout) with count(width, readout) nearest to the budget.

    The width is the largest multiple of `step` that fits with the readout of PFDS, twice the width;
    the readout then takes up what is left. `count` must grow with both.
    """
    width = step * _last(lambda n: count(step * n, 2 * step * n) <= budget)
    if width == 0:
        raise UserError(
            f"no multiple of {step} is a width within {budget} parameters: "
            "use a larger encoder.width or fewer encoder.heads"
        )
    readout = _last(lambda n: count(width, n) <= budget)
    readout = min(readout, readout + 1, key=lambda n: abs(count(width, n) - budget))
    if abs(count(width, readout) / budget - 1) > TOLERANCE:
        raise UserError(
            f"no width comes within {TOLERANCE:.0%} of {budget} parameters: "
            "use a larger encoder.width"
        )
    return width, readout


def _last(holds: Callable[[int], bool]) -> int:
    """Return the largest n for which a predicate holds that is true up to there; 0 if never."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
