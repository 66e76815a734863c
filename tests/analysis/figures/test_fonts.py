"""Fonts in PDF files: embedded as TrueType, with their letters only, and known as text."""

import io
import re
import zlib
from contextlib import suppress

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager

from analysis.figures.draw import render, render_half
from analysis.figures.fonts import LAYOUT, lean_fonts
from analysis.figures.levels import progression
from tests.analysis.synthetic import Spec


def fonts(pdf: bytes) -> list[TTFont]:
    """Return the fonts that lie in a PDF."""
    found = []
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            if (data := zlib.decompress(stream)).startswith(b"\x00\x01\x00\x00"):
                found.append(TTFont(io.BytesIO(data)))
    return found


def test_a_pdf_has_the_letters_of_its_font_and_what_they_mean(study_of):
    drawing = progression(study_of(Spec(levels={2: 100})))
    for pdf in (render(drawing)["pdf"], render_half(drawing)):
        (font,) = fonts(pdf)
        assert "glyf" in font and not {*LAYOUT} & {*font.keys()}
        assert {"i", "t", "e", "r"} <= {*font.getGlyphOrder()}
        assert b"/CIDFontType2" in pdf and b"/ToUnicode" in pdf


def test_lean_fonts_change_nothing_after_them():
    whole, path = subset.load_font, font_manager.findfont("DejaVu Sans")
    with lean_fonts():
        assert "GSUB" not in subset.load_font(path, subset.Options())
    assert subset.load_font is whole
    assert "GSUB" in subset.load_font(path, subset.Options())
