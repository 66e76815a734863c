"""Lines with their checksums, lines without from older runs, and damaged ones."""

import pytest

from s2m.run.lines import from_line, to_line

VALUES = [
    {"iteration": 1, "row": {"loss": 0.123456, "reward/mean": -1.5e-3, "ü": float("nan")}},
    {"rewind": 40},
    {"time": "2026-01-01T00:00:00.000+00:00", "attempt": 1, "kind": "level", "level": 2},
]


@pytest.mark.parametrize("value", VALUES)
def test_what_is_written_reads_back(value):
    assert repr(from_line(to_line(value).encode())) == repr(value)


@pytest.mark.parametrize("value", VALUES)
def test_no_flipped_bit_gives_another_value(value):
    line = to_line(value).encode()
    for bit in range(8 * len(line)):
        damaged = bytearray(line)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError):
            from_line(bytes(damaged))


@pytest.mark.parametrize("value", VALUES)
def test_no_part_of_a_line_is_a_line(value):
    line = to_line(value).encode()
    for end in range(len(line)):
        with pytest.raises(ValueError):
            from_line(line[:end])


def test_lines_of_older_runs_have_no_sum():
    assert from_line(b'{"iteration":1,"row":{"a":2.0}}') == {"iteration": 1, "row": {"a": 2.0}}
    assert from_line(b'{"rewind":3}') == {"rewind": 3}
    for line in (b"", b"null", b"[1]", b'{"row":{"a":2.0},"iteration":1}', b'{"rewind":'):
        with pytest.raises(ValueError):
            from_line(line)
