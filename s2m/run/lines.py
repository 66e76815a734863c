"""One line of a journal or of the events: an object as JSON whose first field is its checksum.

The sum is the CRC-32 of the rest of the line, which finds every damage of up to four bytes in a
row. Lines of runs that were made before there were sums begin with the name of another field.
"""

import zlib
from typing import Any

from s2m.run.files import from_json, to_json

_START, _END = b'{"crc":"', b'",'
_BODY = len(_START) + 8 + len(_END)
_OLD = (b'{"iteration":', b'{"rewind":', b'{"time":')
"""How lines without a sum begin: anything else is damaged."""


def to_line(value: dict[str, Any]) -> str:
    """Return an object that has fields as a line with its sum, without the end of the line."""
    body = to_json(value)[1:]
    return f'{{"crc":"{zlib.crc32(body.encode()):08x}",{body}'


def from_line(line: bytes) -> dict[str, Any]:
    """Return the object of a line; a ValueError if the line is damaged."""
    if line.startswith(_OLD):
        found = from_json(line)
    else:
        body = line[_BODY:]
        head = _START + f"{zlib.crc32(body):08x}".encode() + _END
        if line[:_BODY] != head:
            raise ValueError("the line does not match its checksum")
        found = from_json(b"{" + body)
    if not isinstance(found, dict):
        raise ValueError("the line holds no object")
    return found
