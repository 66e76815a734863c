"""The history of a W&B run as the journal writes it: rows by iteration, of which the last holds.

W&B only ever adds rows, numbered by a step of its own. A row that was sent twice or done again
stands there twice, and what a resumed run has taken back is said by a row with `REWIND`. Replaying
the rows in their order gives the run's table.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from s2m.run.metrics import ITERATION, MetricsRow, merge, rows_of
from s2m.tracking.panels import THRESHOLD, THROUGHPUT

if TYPE_CHECKING:
    import pyarrow

REWIND = "s2m/rewind"
"""Key of a row that voids all later iterations."""
MEDIA = "media/"
"""Start of the keys of tables and films, which are no metrics."""
NOT_JOURNALLED = ("_", MEDIA, THRESHOLD, THROUGHPUT)
"""Starts of keys that W&B has and the journal has not."""

Entry = tuple[int, MetricsRow]


def replay(rows: Iterable[Mapping[str, Any]]) -> "pyarrow.Table":
    """Return the table that W&B's rows, in the order of their steps, stand for."""
    kept: dict[int, MetricsRow] = {}
    for row in rows:
        if row.get(REWIND) is not None:
            limit = float(row[REWIND])
            kept = {i: values for i, values in kept.items() if i <= limit}
            continue
        metrics = {
            name: float(value)
            for name, value in row.items()
            if value is not None and name != ITERATION and not name.startswith(NOT_JOURNALLED)
        }
        # A table or film is logged at the iteration before it, without metrics.
        if metrics and row.get(ITERATION) is not None:
            kept[int(row[ITERATION])] = metrics
    return merge(None, kept, math.inf)


def missing(journal: "pyarrow.Table", mirrored: "pyarrow.Table") -> tuple[int | None, list[Entry]]:
    """Return what makes the mirror equal to the journal: a rewind, if need be, and rows."""
    own, other = rows_of(journal), rows_of(mirrored)
    extra = min(other.keys() - own.keys(), default=None)
    if extra is not None:
        other = {i: row for i, row in other.items() if i < extra}
    limit = None if extra is None else extra - 1
    return limit, [(i, row) for i, row in own.items() if not _equal(row, other.get(i, {}))]


def _equal(row: MetricsRow, other: MetricsRow) -> bool:
    """Tell whether two rows have the same metrics with the same values, NaN being one."""
    same = (v == other[n] or v != v and other[n] != other[n] for n, v in row.items() if n in other)
    return row.keys() == other.keys() and all(same)
