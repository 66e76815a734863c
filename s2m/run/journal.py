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

from s2m.console.errors import UserError
from s2m.run.files import LineFile, is_count, read_lines, write_file
from s2m.run.folder import RunFolder
from s2m.run.lines import from_line, to_line
from s2m.run.metrics import ITERATION, MetricsRow, merge, newest_rows, read_table, write_table

if TYPE_CHECKING:
    import pandas
    import pyarrow

KEPT = 32
"""Newest rows that stay in the journal at compaction, so that `tail` needs no Parquet reader."""

log = logging.getLogger(__name__)

Entry = tuple[int, MetricsRow]


class Journal:
    """`journal.jsonl` and `metrics.parquet` of a run; only the holder of its lock may write."""

    def __init__(self, folder: RunFolder) -> None:
        """Name the files; the first write opens the journal."""
        self._path = folder.journal
        self._metrics = folder.metrics
        self._file: LineFile | None = None
        self.unreadable = 0
        """Damaged lines that the last reading of all rows skipped."""

    def append(self, iteration: int, row: MetricsRow) -> None:
        """Add the metrics of an iteration with one write; rows may have different metrics."""
        if ITERATION in row:
            raise ValueError(f"a metric cannot be named '{ITERATION}'")
        values = {name: float(value) for name, value in row.items()}
        self._write(_line(iteration, values))

    def rewind(self, iteration: int) -> None:
        """Go back to the state after an iteration (-1: to the start): later rows are void."""
        self._write(to_line({"rewind": iteration}))

    def _write(self, line: str) -> None:
        if self._file is None:
            self._file = LineFile(self._path)
        self._file.append(line)

    def compact(self, upto: int, mend: bool = False) -> None:
        """Move the rows up to an iteration to the Parquet file; later ones stay in the journal.

        Damaged lines are refused, or dropped by a writer who has made sure that none is missed.
        """
        rows, limit = self._replay()
        if self.unreadable and not mend:
            raise UserError(
                f"{self._path} has {self.unreadable} damaged lines: "
                "the next attempt resumes from the checkpoint before them"
            )
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

    def _replay(self) -> tuple[dict[int, MetricsRow], float]:
        """Return the rows of the journal that hold, and the iteration up to which stored ones do.

        A line that cannot be read is skipped with a warning; a torn last line is no line yet. A row
        at or before the iteration of the one above it takes back what came later, even if the line
        that said so is lost, or if the row above is the last of an orphan.
        """
        rows: dict[int, MetricsRow] = {}
        limit = math.inf
        above = -math.inf
        self.unreadable = 0
        for line in read_lines(self._path):
            entry = _parse(line)
            if entry is None:
                self.unreadable += 1
                continue
            back = entry if isinstance(entry, int) else entry[0] - 1
            if isinstance(entry, int) or entry[0] <= above:
                rows = {i: row for i, row in rows.items() if i <= back}
                limit = min(limit, back)
            if not isinstance(entry, int):
                above = entry[0]
                rows[above] = entry[1]
        if self.unreadable:
            log.warning("%s: skipped %d unreadable lines", self._path, self.unreadable)
        return rows, limit

    def lacks(self, upto: int) -> list[int]:
        """Return the iterations from 1 to `upto` without a row that can be read."""
        have = set(self.table([])[ITERATION].to_pylist())
        return [iteration for iteration in range(1, upto + 1) if iteration not in have]

    def restore(self, iteration: int) -> bool:
        """Drop all lines if they void rows up to an iteration and all are stored; tell whether.

        For the iteration of a checkpoint: what was stored with it is right, and only a row of an
        orphan that comes late takes it back.
        """
        _, limit = self._replay()
        stored = read_table(self._metrics, []) if limit < iteration else None
        wanted = set(range(1, iteration + 1))
        if stored is None or wanted - set(stored[ITERATION].to_pylist()):
            return False
        self.close()
        write_file(self._path, (to_line({"rewind": iteration}) + "\n").encode())
        return True

    def last(self) -> Entry | None:
        """Return the newest iteration and its metrics."""
        newest = self.tail(1)
        return newest[0] if newest else None

    def tail(self, n: int) -> list[Entry]:
        """Return the newest `n` iterations and their metrics, oldest first.

        Up to `KEPT` of them cost one read of the journal, which checkpoints keep short; only for
        those that a longer tail or a rewind asks for, the Parquet file is opened.
        """
        rows: dict[int, MetricsRow] = {}
        limit = math.inf
        for line in reversed(read_lines(self._path)):
            if len(rows) >= n:
                break
            entry = _parse(line)
            if isinstance(entry, int):
                limit = min(limit, entry)
            elif entry is not None and entry[0] <= limit:
                rows[entry[0]] = entry[1]
                limit = entry[0] - 1
        found = sorted(rows.items())
        if len(found) < n and self._metrics.exists():
            found = newest_rows(self._metrics, n - len(found), limit) + found
        return found


def _line(iteration: int, row: MetricsRow) -> str:
    return to_line({ITERATION: iteration, "row": row})


def _parse(line: bytes) -> Entry | int | None:
    """Return a row, the iteration of a rewind, or None for a line that is neither."""
    try:
        entry = from_line(line)
        at = entry["rewind"] if "rewind" in entry else entry[ITERATION]
        if not is_count(at):
            return None
        if "rewind" in entry:
            return at
        return at, {name: float(value) for name, value in entry["row"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
