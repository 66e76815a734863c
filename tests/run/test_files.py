import math
import os
import resource
import stat
import struct
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2m.console.errors import UserError
from s2m.run.files import (
    LineFile,
    from_json,
    read_json,
    read_lines,
    remove_temporary,
    replacing,
    to_json,
    write_file,
    write_json,
)


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(root):
    path = root / "file"
    write_file(path, b"old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(root.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, 20_000])
def test_what_finds_no_room_is_named(root, size):
    path = root / "file"
    with at_most(size), pytest.raises(OSError) as error:
        write_file(path, b"x" * 100_000)
    assert (error.value.filename, error.value.strerror) == (str(path), "File too large")
    assert list(root.iterdir()) == []


def test_content_is_on_the_disk_before_its_name_and_both_before_the_return(root, monkeypatch):
    calls = []
    replace = os.replace

    def record(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(os, "replace", lambda *paths: (calls.append("rename"), replace(*paths)))
    write_file(root / "file", b"data")
    assert calls == ["file", "rename", "folder"]


def test_files_get_the_usual_permissions(root):
    (root / "plain").write_bytes(b"")
    write_file(root / "file", b"")
    assert (root / "file").stat().st_mode == (root / "plain").stat().st_mode


def test_only_temporary_files_are_removed(root):
    with pytest.raises(ValueError), replacing(root / "a") as file:
        abandoned = root / file.name
        raise ValueError
    abandoned.write_bytes(b"left by a kill")
    (root / "a.tmp").write_bytes(b"mine")
    remove_temporary(root)
    assert [path.name for path in root.iterdir()] == ["a.tmp"]


@given(st.floats())
def test_every_float_survives_json(value):
    text = to_json({"a": [value]})
    assert "NaN" not in text and "Infinity" not in text
    again = from_json(text)["a"][0]
    if math.isnan(value):
        assert math.isnan(again)
    else:
        assert struct.pack("d", again) == struct.pack("d", value)


def test_written_json_reads_back(root):
    value = {"ä": [1, {"b": math.inf}], "none": None}
    write_json(root / "a.json", value)
    assert read_json(root / "a.json") == value


def test_json_errors_name_the_file(root):
    path = root / "a.json"
    with pytest.raises(UserError, match=r"a\.json: No such file"):
        read_json(path)
    for content in [b'{"a": 1', b"\xff", b"[1]", b""]:
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.json is damaged"):
            read_json(path)


def test_lines_grow_and_a_torn_one_is_cut(root):
    path = root / "lines"
    path.write_bytes(b"one\ntwo\nthr")
    assert read_lines(path) == [b"one", b"two"]
    file = LineFile(path)
    file.append("three")
    file.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize("content", [b"", b"torn" * 9, b"a\n", b"\n", b"a\n" + b"torn" * 9])
def test_a_torn_line_is_cut_whatever_stands_before_it(root, content):
    path = root / "lines"
    path.write_bytes(content)
    LineFile(path).close()
    assert path.read_bytes() == content[: content.rfind(b"\n") + 1]


def test_a_missing_file_has_no_lines(root):
    assert read_lines(root / "none") == []


@contextmanager
def at_most(size):
    """Let no file grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_no_half_line(root):
    path = root / "lines"
    file = LineFile(path)
    file.append("one")
    with at_most(10), pytest.raises(OSError):
        file.append("a line of more than ten bytes")
    with at_most(4), pytest.raises(OSError) as error:
        file.append("two")
    assert error.value.filename == str(path)
    file.append("two")
    file.close()
    assert path.read_bytes() == b"one\ntwo\n"
