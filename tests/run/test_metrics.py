"""The stored table of metrics depends on its rows alone, and tells when it is damaged."""

import pyarrow
import pyarrow.parquet
import pytest

from s2m.console.errors import UserError
from s2m.run.metrics import (
    SUMS,
    merge,
    newest_rows,
    read_table,
    write_table,
)


@pytest.fixture
def path(tmp_path):
    write_table(tmp_path / "metrics", merge(None, {1: {"a": 1.0}, 2: {"b": 2.0}}, 2))
    return tmp_path / "metrics"


def test_rows_in_preference_to_stored_ones_and_none_beyond_the_limit():
    stored = merge(None, {1: {"a": 1.0}, 2: {"a": 2.0}, 3: {"a": 3.0, "gone": 1.0}}, 9)
    found = merge(stored, {2: {"b": 5.0}, 4: {"a": 4.0}}, limit=2)
    assert found.column_names == ["iteration", "a", "b"]
    assert found.to_pylist() == [
        {"iteration": 1, "a": 1.0, "b": None},
        {"iteration": 2, "a": None, "b": 5.0},
        {"iteration": 4, "a": 4.0, "b": None},
    ]


def test_how_often_it_was_stored_on_the_way_does_not_matter():
    rows = {i: {"z": float(i), **({"a": 0.5} if i == 3 else {})} for i in range(1, 7)}
    parts = None
    for i, row in rows.items():
        parts = merge(parts, {i: row}, limit=i)
    assert merge(None, rows, limit=6).equals(parts)


def test_named_columns_are_read_with_their_iterations(path):
    assert read_table(path).column_names == ["iteration", "a", "b"]
    assert read_table(path, ["b", "absent"]).column_names == ["iteration", "b"]
    assert read_table(path.with_name("absent")) is None


@pytest.mark.parametrize("change", ["value", "null", "name", "column"])
def test_a_table_that_is_not_what_was_summed_is_damaged(path, change):
    with pyarrow.parquet.ParquetFile(path) as file:
        table = file.read()
    sums = table.schema.metadata[SUMS]
    if change == "name":
        table = table.rename_columns(["iteration", "a", "c"])
    elif change == "column":
        table = table.drop_columns(["b"])
    else:
        values = pyarrow.array([1.0, 7.0] if change == "value" else [None, None], pyarrow.float64())
        table = table.set_column(1, "a", values)
    pyarrow.parquet.write_table(table.replace_schema_metadata({SUMS: sums}), path)
    with pytest.raises(UserError, match="is damaged: the .*checksum"):
        read_table(path)


def test_the_newest_rows_lack_what_was_not_measured(path):
    assert newest_rows(path, 5, limit=9) == [(1, {"a": 1.0}), (2, {"b": 2.0})]
    assert newest_rows(path, 1, limit=9) == [(2, {"b": 2.0})]
    assert newest_rows(path, 5, limit=1) == [(1, {"a": 1.0})]
    assert newest_rows(path.with_name("absent"), 5, limit=9) == []
