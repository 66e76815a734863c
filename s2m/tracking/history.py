"""The history of a W&B run as the journal writes it: rows by iteration, of which the last holds.

W&B only ever adds rows, numbered by a step of its own. A row that was sent twice or done again
stands there twice, and what a resumed run has taken back is said by a row with `REWIND`. Replaying
the rows in their order gives the run's table.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from s2m.run.metrics import ITERATION, MetricsRow, merge
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
    own, other = (table[ITERATION].to_numpy() for table in (journal, mirrored))
    extra = np.setdiff1d(other, own)
    limit = int(extra[0]) - 1 if len(extra) else None
    due = ~np.isin(own, other if limit is None else other[other <= limit])
    due |= _differs(journal, mirrored, own, other)
    rows = []
    for row in journal.take(np.flatnonzero(due)).to_pylist():
        iteration = row.pop(ITERATION)
        rows.append((iteration, {name: v for name, v in row.items() if v is not None}))
    return limit, rows


def _differs(
    journal: "pyarrow.Table", mirrored: "pyarrow.Table", own: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Mark the journal's rows that the mirror has with other values."""
    both, here, there = np.intersect1d(own, other, return_indices=True)
    differs = np.zeros(len(both), dtype=bool)
    for name in {*journal.column_names, *mirrored.column_names} - {ITERATION}:
        (a, a_known), (b, b_known) = (
            _column(table, name, places) for table, places in ((journal, here), (mirrored, there))
        )
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        differs |= (a_known != b_known) | (a_known & b_known & ~equal)
    marks = np.zeros(len(own), dtype=bool)
    marks[here] = differs
    return marks


def _column(table: "pyarrow.Table", name: str, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a metric, and where there is one, at some rows."""
    if name not in table.column_names:
        return np.full(len(places), math.nan), np.zeros(len(places), dtype=bool)
    column = table[name]
    return column.to_numpy()[places], column.is_valid().to_numpy()[places]
