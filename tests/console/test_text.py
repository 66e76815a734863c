"""Plain text for terminals, whoever wrote the words."""

from hypothesis import given
from hypothesis import strategies as st

from s2m.console.text import LONGEST, columns, excerpt, harmless, one_line


@given(st.text())
def test_harmless_text_has_no_control_character_but_line_feeds_and_tabs(text):
    found = harmless(text)
    assert all(c in "\n\t" or c.isprintable() or ord(c) > 0x9F for c in found)
    assert harmless(found) == found
    found.encode()


def test_what_a_terminal_would_obey_becomes_an_escape():
    assert harmless("\x1b[31mred\r\n") == "\\x1b[31mred\\r\n"
    assert harmless("a\u202eb\udcffc\x9b") == "a\\u202eb\\udcffc\\x9b"
    assert harmless("über – 5 µm\n\tx") == "über – 5 µm\n\tx"


@given(st.text())
def test_an_excerpt_is_one_line_of_sane_length(text):
    found = excerpt(text)
    assert "\n" not in found and "\t" not in found and len(found) <= LONGEST


def test_white_space_of_one_line_is_single_blanks():
    assert one_line(" a\n\tb  c\n") == "a b c"


def test_columns_are_as_wide_as_their_widest_cell():
    text = columns(("run", "state"), [("a", "running"), ("longer", "x")])
    assert text.splitlines() == ["run     state", "a       running", "longer  x"]
    cut = columns(("run", "state"), [("longer", "x")], width=9)
    assert cut.splitlines() == ["run     s", "longer  x"]
