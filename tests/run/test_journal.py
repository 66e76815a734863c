import math
import struct
import tempfile
from pathlib import Path
from unittest import mock

import pandas
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.journal import KEPT, Journal
from tests.run.conftest import deterministic

Model = dict[int, dict[str, float]]


def bits(value: float) -> bytes:
    return b"nan" if math.isnan(value) else struct.pack("d", value)


def exactly(row: dict[str, float]) -> dict[str, bytes]:
    return {name: bits(value) for name, value in row.items()}


def assert_table(frame: pandas.DataFrame, model: Model) -> None:
    """The frame holds the rows of the model, bit for bit, NaN where a row lacks a metric."""
    names = sorted({name for row in model.values() for name in row})
    assert list(frame.columns) == ["iteration", *names]
    assert frame.dtypes.tolist() == ["int64", *["float64"] * len(names)]
    assert frame["iteration"].tolist() == sorted(model)
    for name in names:
        expected = [model[i].get(name, math.nan) for i in sorted(model)]
        assert [bits(x) for x in frame[name]] == [bits(x) for x in expected]


def assert_tail(journal: Journal, model: Model, n: int) -> None:
    expected = [(i, exactly(model[i])) for i in sorted(model)[-n:]]
    assert [(i, exactly(row)) for i, row in journal.tail(n)] == expected


names = st.sampled_from(["loss", "time/step", "ü \"'\n"]) | st.text(max_size=3)
rows = st.dictionaries(names, st.floats(), max_size=6)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3), rows),
        st.tuples(st.just("rewind"), st.integers(0, 9), st.none()),
        st.tuples(st.just("compact"), st.integers(-2, 2), st.none()),
        st.tuples(st.just("tear"), st.none(), rows),
    ),
    max_size=25,
)


@given(operations)
def test_journal_is_a_dict_of_rows(operations):
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(path)
        journal, model, newest = Journal(folder), Model(), -1
        for name, number, row in operations:
            if name == "append":
                newest += number
                journal.append(newest, row)
                model[newest] = row
            elif name == "rewind":
                newest = max(-1, newest - number)
                journal.rewind(newest)
                model = {i: row for i, row in model.items() if i <= newest}
            elif name == "compact":
                journal.compact(newest + number)
            else:
                journal.append(newest + 1, row)
                journal.close()
                folder.journal.write_bytes(folder.journal.read_bytes()[:-1])
                journal = Journal(folder)
            assert_tail(Journal(folder), model, 2)
        assert_table(Journal(folder).read(), model)
        assert_tail(Journal(folder), model, 100)
        journal.close()


def test_the_last_row_of_an_iteration_wins(folder):
    journal = Journal(folder)
    for iteration in [0, 1, 2]:
        journal.append(iteration, {"a": 1.0, "b": 1.0})
    journal.compact(1)
    for iteration in [1, 2]:
        journal.append(iteration, {"a": 2.0})
    assert_table(journal.read(), {0: {"a": 1.0, "b": 1.0}, 1: {"a": 2.0}, 2: {"a": 2.0}})
    journal.compact(2)
    assert_table(journal.read(), {0: {"a": 1.0, "b": 1.0}, 1: {"a": 2.0}, 2: {"a": 2.0}})


def test_an_empty_journal(folder):
    journal = Journal(folder)
    assert_table(journal.read(), {})
    assert journal.last() is None
    journal.compact(0)
    assert_table(journal.read(), {})


def test_one_write_per_row(folder):
    journal = Journal(folder)
    journal.append(0, {"a": 0.0})
    with mock.patch("os.write", side_effect=lambda _, data: len(data)) as write:
        journal.append(1, {f"metric/{i}": i / 7 for i in range(60)})
    assert write.call_count == 1


def test_compaction_moves_rows_and_keeps_the_tail_readable(folder, monkeypatch):
    journal = Journal(folder)
    model: Model = {i: {"a": i / 3} for i in range(100)}
    for iteration, row in model.items():
        journal.append(iteration, row)
    journal.compact(89)
    stored = pyarrow.parquet.read_table(folder.metrics)
    assert stored["iteration"].to_pylist() == list(range(90))
    assert len(folder.journal.read_bytes().splitlines()) == KEPT
    assert_table(journal.read(), model)
    monkeypatch.setattr(pyarrow.parquet, "read_table", None)
    assert_tail(journal, model, KEPT)


def test_rows_after_the_checkpoint_stay_in_the_journal(folder):
    journal = Journal(folder)
    for iteration in range(100):
        journal.append(iteration, {"a": 1.0})
    journal.compact(9)
    assert len(folder.journal.read_bytes().splitlines()) == 90


def test_rewind_behind_the_stored_table(folder):
    journal = Journal(folder)
    for iteration in range(50):
        journal.append(iteration, {"a": 1.0, "only": 1.0})
    journal.compact(49)
    journal.rewind(-1)
    assert journal.last() is None
    journal.append(0, {"a": 2.0})
    assert_table(journal.read(), {0: {"a": 2.0}})
    journal.compact(0)
    assert_table(journal.read(), {0: {"a": 2.0}})


def test_a_torn_last_line_is_ignored_and_a_bad_one_is_counted(folder, caplog):
    journal = Journal(folder)
    journal.append(0, {"a": 1.0})
    with folder.journal.open("ab") as file:
        file.write(b'{"iteration":1,"row":{"a"')
    assert_table(journal.read(), {0: {"a": 1.0}})
    assert caplog.text == ""
    with folder.journal.open("ab") as file:
        file.write(b'\n{"iteration":2}\n{"iteration":3,"row":{"a":"x"}}\nnull\n')
    journal.append(4, {"a": 4.0})
    assert_table(journal.read(), {0: {"a": 1.0}, 4: {"a": 4.0}})
    assert "skipped 4 unreadable lines" in caplog.text
    assert_tail(journal, {0: {"a": 1.0}, 4: {"a": 4.0}}, 2)


def test_a_damaged_table_is_told_and_not_overwritten(folder):
    journal = Journal(folder)
    for iteration in range(1000):
        journal.append(iteration, {"a": iteration / 7})
    journal.compact(999)
    data = bytearray(folder.metrics.read_bytes())
    data[len(data) // 2] ^= 1
    folder.metrics.write_bytes(data)
    journal.append(1000, {"a": 0.0})
    for use in [journal.read, lambda: journal.compact(1000)]:
        with pytest.raises(UserError, match=r"metrics\.parquet is damaged"):
            use()
    assert folder.metrics.read_bytes() == data


def test_no_metric_is_called_iteration(folder):
    with pytest.raises(ValueError, match="iteration"):
        Journal(folder).append(0, {"iteration": 1.0})


def test_wall_clock_columns_can_be_told_apart(folder):
    journal = Journal(folder)
    journal.append(0, {"loss": 1.0, "time/step": 0.3, "timeout": 0.5})
    assert list(deterministic(journal.read()).columns) == ["iteration", "loss", "timeout"]


def test_path_is_taken_as_it_is(folder):
    assert "'" in str(folder.path) and " " in str(folder.path)
    journal = Journal(RunFolder(Path(folder.path)))
    journal.append(0, {"a": 1.0})
    journal.compact(0)
    assert_table(journal.read(), {0: {"a": 1.0}})


def test_named_metrics_are_the_columns_of_the_whole_table(folder):
    journal = Journal(folder)
    for i in range(1, 50):
        journal.append(i, {"a": i, "b": 2 * i, **({"rare": 0.5} if i == 3 else {})})
    journal.compact(40)
    whole = journal.read()
    some = journal.table(["b", "rare", "absent"]).to_pandas()
    pandas.testing.assert_frame_equal(some, whole.filter(["iteration", "b", "rare"]))
    assert journal.table([]).column_names == ["iteration"]


def test_a_flipped_bit_anywhere_in_the_table_is_told_or_without_effect(folder):
    journal = Journal(folder)
    model: Model = {i: {"a": i / 3, "time/step": 0.5} for i in range(1, 40)}
    for iteration, row in model.items():
        journal.append(iteration, row)
    journal.compact(39)
    data = folder.metrics.read_bytes()
    folder.journal.write_bytes(b"")
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        folder.metrics.write_bytes(damaged)
        try:
            found = Journal(folder).table(["a"]).to_pandas()
        except UserError as error:
            assert "\n" not in str(error)
        else:
            assert_table(found, {i: {"a": row["a"]} for i, row in model.items()})


def test_rows_of_a_checkpoint_come_back_only_if_all_are_stored(tmp_path):
    folder = RunFolder(tmp_path)
    journal = Journal(folder)
    for iteration in range(1, 9):
        journal.append(iteration, {"loss": 1.0})
    journal.rewind(8)
    assert not journal.restore(8)  # nothing is void
    journal.append(7, {"loss": 2.0})
    assert not journal.restore(8)  # nothing is stored
    journal.append(8, {"loss": 1.0})
    journal.compact(8)
    journal.append(3, {"loss": 2.0})
    assert not journal.restore(9)
    assert journal.restore(8) and journal.read()["loss"].tolist() == [1.0] * 6 + [2.0, 1.0]
    assert not Journal(RunFolder(tmp_path / "other")).restore(0)
