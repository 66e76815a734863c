"""A file is sound exactly as long as no byte of it changes."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2m.console.errors import UserError
from s2m.run.seal import MARK, TRAILER, is_sound, seal, sum_in


@pytest.fixture
def path(tmp_path):
    seal(tmp_path / "sealed", b"some bytes")
    return tmp_path / "sealed"


def test_the_last_line_is_the_sum_of_all_before_it(path):
    digest = hashlib.sha256(b"some bytes").hexdigest()
    assert path.read_bytes() == b"some bytes" + MARK + digest.encode() + b"\n"
    assert len(path.read_bytes()) == 10 + TRAILER
    assert is_sound(path) and sum_in(path) == digest


def test_a_change_of_any_byte_is_noticed(path):
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert not is_sound(path), place


def test_a_file_that_was_cut_off_or_continued_is_noticed(path):
    whole = path.read_bytes()
    for text in [whole + b"x", *(whole[:n] for n in range(len(whole)))]:
        path.write_bytes(text)
        assert not is_sound(path), text


def test_a_file_without_a_sum_is_told(path):
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(UserError, match="has no checksum: it was cut off, or s2m did not write it"):
        sum_in(path)
    with pytest.raises(UserError, match="cannot read .*absent: No such file or directory"):
        sum_in(path.with_name("absent"))


@given(st.binary(max_size=99))
def test_any_bytes_are_sealed_alike(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("sealed") / "sealed"
    seal(path, memoryview(data))
    assert is_sound(path)
    assert sum_in(path) == hashlib.sha256(data).hexdigest()
