"""Generated parts of the documentation are what their commands print."""

import pytest

from analysis.docs import replace_section, section
from benchmarks.encoders import PAGE, markdown
from s2m.console.errors import UserError


def test_parameter_table_is_up_to_date():
    assert section(PAGE, "sizes") == markdown()


def test_a_section_is_replaced_and_the_rest_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n")
    replace_section(page, "x", "new")
    assert page.read_text() == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    assert section(page, "x") == "new"


def test_a_missing_mark_is_one_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(UserError, match="needs the lines"):
        section(page, "x")
