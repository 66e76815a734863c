"""The table of metrics: one row per iteration, float64 columns, stored as Parquet."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2m.errors import UserError
from s2m.run.files import replacing

if TYPE_CHECKING:
    import pandas
    import pyarrow

ITERATION = "iteration"

VOLATILE = "time/"
"""Start of the names of columns that hold wall-clock values and differ between equal runs."""

Row = dict[str, float]


def deterministic(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """Return the columns that must be equal for equal runs, without the `VOLATILE` ones."""
    return frame.drop(columns=[name for name in frame.columns if name.startswith(VOLATILE)])


def read_table(path: Path, names: Collection[str] | None = None) -> "pyarrow.Table | None":
    """Return the stored table, page checksums verified; None if there is none yet.

    With `names` only the iteration and those of the named metrics that are stored are read.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            columns = None if names is None else [ITERATION, *names]
            # The files are small: a pool of threads costs more than it gives.
            return file.read(columns, use_threads=False)
    except FileNotFoundError:
        return None
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise UserError(f"{path} is damaged: {str(error).splitlines()[0]}") from None


def write_table(path: Path, table: "pyarrow.Table") -> None:
    """Replace the stored table."""
    import pyarrow.parquet

    with replacing(path) as file:
        pyarrow.parquet.write_table(
            table, file, compression="zstd", use_dictionary=False, write_page_checksum=True
        )


def merge(stored: "pyarrow.Table | None", rows: dict[int, Row], limit: float) -> "pyarrow.Table":
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


def newest_rows(path: Path, n: int, limit: float) -> list[tuple[int, Row]]:
    """Return the last `n` stored rows up to iteration `limit`, without their missing metrics."""
    stored = read_table(path)
    if stored is None:
        return []
    table = merge(stored, {}, limit)
    return [
        (row.pop(ITERATION), {name: value for name, value in row.items() if value is not None})
        for row in table.slice(max(0, len(table) - n)).to_pylist()
    ]
