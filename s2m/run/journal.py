"""The metrics of a run while it runs: one line per iteration, moved to Parquet at checkpoints.

The table is what the Parquet file and then the journal's lines say, later ones winning. Compacting
stores the table before it shortens the journal, so a crash in between only repeats rows. Compact
first and save the checkpoint of that iteration second: then no checkpoint is ahead of its metrics,
even after a power cut.
"""

import logging
import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from s2m.run.files import (
    LineFile,
    from_json,
    is_count,
    read_lines,
    read_lines_backwards,
    to_json,
    write_file,
)
from s2m.run.folder import RunFolder
from s2m.run.metrics import ITERATION, Row, merge, newest_rows, read_table, write_table

if TYPE_CHECKING:
    import pandas
    import pyarrow

KEPT = 32
"""Newest rows that stay in the journal at compaction, so that `tail` needs no Parquet reader."""

log = logging.getLogger(__name__)

Entry = tuple[int, Row]


class Journal:
    """`journal.jsonl` and `metrics.parquet` of a run; only the holder of its lock may write."""

    def __init__(self, folder: RunFolder) -> None:
        """Name the files; the first write opens the journal."""
        self._path = folder.journal
        self._metrics = folder.metrics
        self._file: LineFile | None = None

    def append(self, iteration: int, row: Row) -> None:
        """Add the metrics of an iteration with one write; rows may have different metrics."""
        if ITERATION in row:
            raise ValueError(f"a metric cannot be named '{ITERATION}'")
        values = {name: float(value) for name, value in row.items()}
        self._write(_line(iteration, values))

    def rewind(self, iteration: int) -> None:
        """Go back to the state after an iteration (-1: to the start): later rows are void."""
        self._write(to_json({"rewind": iteration}))

    def _write(self, line: str) -> None:
        if self._file is None:
            self._file = LineFile(self._path)
        self._file.append(line)

    def compact(self, upto: int) -> None:
        """Move the rows up to an iteration to the Parquet file; later ones stay in the journal."""
        rows, limit = self._replay()
        done = {iteration: row for iteration, row in rows.items() if iteration <= upto}
        write_table(self._metrics, merge(read_table(self._metrics), done, limit))
        order = sorted(rows)
        left = [i for i in order[:-KEPT] if i > upto] + order[-KEPT:]
        write_file(self._path, "".join(_line(i, rows[i]) + "\n" for i in left).encode())
        self.close()

    def close(self) -> None:
        """Give the file back; the next write opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> "pandas.DataFrame":
        """Return all rows that hold, sorted by `iteration`; a metric that a row lacks is NaN."""
        return self.table().to_pandas()

    def table(self, names: Collection[str] | None = None) -> "pyarrow.Table":
        """Return what `read` does as an Arrow table; with `names` only those metrics.

        A long run has many more metrics than a figure needs; only what is named is read from disk.
        """
        rows, limit = self._replay()
        if names is not None:
            rows = {i: {n: row[n] for n in names if n in row} for i, row in rows.items()}
        return merge(read_table(self._metrics, names), rows, limit)

    def _replay(self) -> tuple[dict[int, Row], float]:
        """Return the rows of the journal that hold, and the iteration up to which stored ones do.

        A line that cannot be read is skipped with a warning; a torn last line is no line yet.
        """
        rows: dict[int, Row] = {}
        limit = math.inf
        unreadable = 0
        for line in read_lines(self._path):
            entry = _parse(line)
            if entry is None:
                unreadable += 1
            elif isinstance(entry, int):
                rows = {i: row for i, row in rows.items() if i <= entry}
                limit = min(limit, entry)
            else:
                rows[entry[0]] = entry[1]
        if unreadable:
            log.warning("%s: skipped %d unreadable lines", self._path, unreadable)
        return rows, limit

    def last(self) -> Entry | None:
        """Return the newest iteration and its metrics."""
        newest = self.tail(1)
        return newest[0] if newest else None

    def tail(self, n: int) -> list[Entry]:
        """Return the newest `n` iterations and their metrics, oldest first.

        Up to `KEPT` of them cost one read at the end of the journal; only for those that a longer
        tail or a rewind asks for, the Parquet file is opened.
        """
        rows: dict[int, Row] = {}
        limit = math.inf
        for line in read_lines_backwards(self._path):
            if len(rows) >= n:
                break
            entry = _parse(line)
            if isinstance(entry, int):
                limit = min(limit, entry)
            elif entry is not None and entry[0] <= limit:
                rows.setdefault(*entry)
        found = sorted(rows.items())
        if len(found) < n and self._metrics.exists():
            limit = min(limit, found[0][0] - 1 if found else limit)
            found = newest_rows(self._metrics, n - len(found), limit) + found
        return found


def _line(iteration: int, row: Row) -> str:
    return to_json({ITERATION: iteration, "row": row})


def _parse(line: bytes) -> Entry | int | None:
    """Return a row, the iteration of a rewind, or None for a line that is neither."""
    try:
        entry = from_json(line)
        at = entry["rewind"] if "rewind" in entry else entry[ITERATION]
        if not is_count(at):
            return None
        if "rewind" in entry:
            return at
        return at, {name: float(value) for name, value in entry["row"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
