"""When a run reached its levels, and what its rounds gave: by its events and its metrics."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from s2m.console.errors import UserError
from s2m.run.events import Event
from s2m.run.metrics import ITERATION

if TYPE_CHECKING:
    import pyarrow

LEVEL = "curriculum/level"
"""The metric that holds the level after each iteration."""
HIGHEST = 5
"""The highest level, which is a number of balls."""
ROUND, RATE = "distill/round", "round/"
"""The metric that holds the round of an epoch, and the start of those at the end of a round."""


def level_changes(
    events: Iterable[Event], table: "pyarrow.Table | None" = None, start: int = 1
) -> dict[int, int]:
    """Return the iteration at which each level began, in the order of the levels.

    A level above the one of the `start` that no event names began, by the metrics, in the first row
    at or above it.
    """
    found = {int(e["level"]): int(e["iteration"]) for e in events if e["kind"] == "level"}
    if table is not None and LEVEL in table.column_names:
        iterations, levels = table[ITERATION].to_numpy(), table[LEVEL].to_numpy()
        highest = np.nanmax(levels)
        if not highest <= HIGHEST:
            raise UserError(f"its metrics are damaged: level {highest:g} is beyond {HIGHEST}")
        for level in range(start + 1, int(highest) + 1):
            found.setdefault(level, int(iterations[np.argmax(levels >= level)]))
    return dict(sorted(found.items()))


def rounds(table: "pyarrow.Table") -> list[dict[str, Any]]:
    """Return round, iteration and rates at the end of each round of a student, by its metrics."""
    found = []
    for row in table.to_pylist():
        if rates := rates_of(row):
            found.append({"round": int(row[ROUND]), "iteration": row[ITERATION], **rates})
    return found


def rates_of(row: dict[str, Any]) -> dict[str, float]:
    """Return what a row says about a round that ended with it."""
    return {name: v for name, v in row.items() if name.startswith(RATE) and v is not None}
