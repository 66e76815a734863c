"""The table of metrics: one row per iteration, float64 columns, stored as Parquet."""

import json
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2m.console.errors import UserError
from s2m.run.files import replacing

if TYPE_CHECKING:
    import pyarrow

ITERATION = "iteration"

VOLATILE = "time/"
"""Start of the names of columns that hold wall-clock values and differ between equal runs."""

SUMS = b"s2m-crc32"
"""Key of the table's metadata under which each column has its checksum: those of Parquet cover the
values, but neither their names nor what else stands at the end of the file."""

MetricsRow = dict[str, float]


def read_table(path: Path, names: Collection[str] | None = None) -> "pyarrow.Table | None":
    """Return the stored table, checksums verified; None if there is none yet.

    With `names` only the iteration and those of the named metrics that are stored are read.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            columns = None if names is None else [ITERATION, *names]
            # The files are small: a pool of threads costs more than it gives.
            table = file.read(columns, use_threads=False)
            _verify(table, file.schema_arrow.names)
            return table.replace_schema_metadata(None)
    except FileNotFoundError:
        return None
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path} is damaged: {reason}") from None


def _verify(table: "pyarrow.Table", names: list[str]) -> None:
    """Compare what was read with the sums of its columns; older files have none."""
    stored = (table.schema.metadata or {}).get(SUMS)
    if stored is None:
        return
    sums = json.loads(stored)
    if not isinstance(sums, dict) or list(sums) != names:
        raise ValueError("the names of its columns do not match its checksums")
    for name in table.column_names:
        if _sum(table, name) != sums[name]:
            raise ValueError(f"the column {name} does not match its checksum")


def _sum(table: "pyarrow.Table", name: str) -> int:
    known = table[name].is_valid().to_numpy().tobytes()
    return zlib.crc32(table[name].to_numpy().tobytes(), zlib.crc32(known))


def write_table(path: Path, table: "pyarrow.Table") -> None:
    """Replace the stored table; its columns are numbers."""
    import pyarrow.parquet

    sums = {name: _sum(table, name) for name in table.column_names}
    table = table.replace_schema_metadata({SUMS: json.dumps(sums)})
    with replacing(path) as file:
        pyarrow.parquet.write_table(
            table, file, compression="zstd", use_dictionary=False, write_page_checksum=True
        )


def merge(
    stored: "pyarrow.Table | None", rows: dict[int, MetricsRow], limit: float
) -> "pyarrow.Table":
    """Return a table of the stored rows up to iteration `limit` and, in preference, of `rows`.

    A metric that a row lacks is null. The columns are sorted, those without any value are dropped:
    the table depends on its rows alone, not on how often it was stored on the way.
    """
    import numpy
    import pyarrow

    order = sorted(rows)
    columns: dict[str, Any] = {ITERATION: pyarrow.array(order, pyarrow.int64())}
    for name in {name for row in rows.values() for name in row}:
        columns[name] = pyarrow.array([rows[i].get(name) for i in order], pyarrow.float64())
    table = pyarrow.table(columns)
    if stored is not None:
        iterations = stored[ITERATION].to_numpy()
        kept = (iterations <= limit) & ~numpy.isin(iterations, order)
        parts = [stored.filter(pyarrow.array(kept)), table]
        table = pyarrow.concat_tables(parts, promote_options="default").sort_by(ITERATION)
    names = (name for name in table.column_names if table[name].null_count < len(table))
    return table.select([ITERATION, *sorted(set(names) - {ITERATION})])


def newest_rows(path: Path, n: int, limit: float) -> list[tuple[int, MetricsRow]]:
    """Return the last `n` stored rows up to iteration `limit`, without their missing metrics."""
    stored = read_table(path)
    if stored is None:
        return []
    table = merge(stored, {}, limit)
    return list(rows_of(table.slice(max(0, len(table) - n))).items())


def rows_of(table: "pyarrow.Table") -> dict[int, MetricsRow]:
    """Return the rows of a table by iteration, without their missing metrics."""
    return {
        row.pop(ITERATION): {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    }
