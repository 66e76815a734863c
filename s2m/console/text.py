"""Plain text for terminals, files and pages, whoever wrote the words.

What a run folder says may hold anything. Whoever reads from one makes it harmless there, once:
control characters, which a terminal would obey, become escapes. What is read as markup, as HTML is,
is escaped where it is written.
"""

import re
from collections.abc import Iterable, Sequence

GAP = "  "
LONGEST = 1000
"""Characters of what a run folder may say at a time."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """Return text that any terminal and file can take: control characters as escapes.

    Line feeds and tabs stay. Bytes of file names that are no text become escapes, too.
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return text without any control character or line break."""
    return harmless(" ".join(text.split()))


def excerpt(text: str) -> str:
    """Return words from elsewhere as one harmless line of sane length."""
    return one_line(text)[:LONGEST]


def count(number: int, noun: str) -> str:
    """Write how many there are of something that takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None) -> str:
    """Lay out rows of harmless text under a head; lines are cut at `width`."""
    table = [head, *rows]
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        GAP.join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
        for row in table
    )
    return "\n".join(line[:width] for line in lines)


def duration(seconds: float | None) -> str:
    """Write a time span for people; None is one that cannot be told."""
    if seconds is None:
        return "unknown"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
