"""Fonts in PDF files: what of a font goes into them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fontTools import subset

LAYOUT = ("GDEF", "GPOS", "GSUB", "MATH", "kern")
"""Tables that say how letters stand beside each other, which a PDF has written down already."""


@contextmanager
def lean_fonts() -> Iterator[None]:
    """Let matplotlib embed fonts without their layout tables.

    No reader of a PDF looks at them; to cut them down to the letters in use is most of the work of
    embedding a font.
    """
    whole = subset.load_font

    def load(*args: Any, **options: Any) -> Any:
        font = whole(*args, **options)
        for tag in LAYOUT:
            if tag in font:
                del font[tag]
        return font

    subset.load_font = load
    try:
        yield
    finally:
        subset.load_font = whole
