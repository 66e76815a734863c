"""Tables and figures of a study in the documentation."""

import shutil

import pytest

from analysis.docs import section
from analysis.figures.draw import render
from analysis.figures.every import every_figure
from analysis.publish import caption, publish
from s2m.console.errors import UserError

SVG = b"<svg><dc:description>Runs &amp; [levels].</dc:description></svg>"


@pytest.fixture
def tables(tmp_path):
    place = tmp_path / "tables"
    (place / "figures").mkdir(parents=True)
    (place / "teacher.json").write_text("{}")
    (place / "rates.md").write_text("## Rates\n\nA caption.\n\n| a |\n| --- |\n| 1 |\n")
    (place / "figures" / "curve.svg").write_bytes(SVG)
    return place


def page(tmp_path, *marks):
    made = tmp_path / "docs" / "page.md"
    made.parent.mkdir()
    made.write_text("Text.\n" + "\n".join(f"<!-- {m} -->\n<!-- /{m} -->" for m in marks) + "\n")
    return made


def test_places_are_filled_with_what_was_made(tmp_path, tables):
    made = page(tmp_path, "table rates", "figure curve")
    assert publish(tables, (made,), tmp_path / "docs" / "figures") == 2
    assert section(made, "table rates") == "A caption.\n\n| a |\n| --- |\n| 1 |"
    assert section(made, "figure curve") == r"![Runs & \[levels\].](figures/curve.svg)"
    assert (tmp_path / "docs" / "figures" / "curve.svg").read_bytes() == SVG
    assert made.read_text().startswith("Text.\n")


def test_a_figure_is_described_by_its_caption(stored):
    drawing = every_figure(stored)[0]
    assert caption(render(drawing)["svg"]) == drawing.caption


def test_a_place_for_what_was_not_made_is_one_line(tmp_path, tables):
    with pytest.raises(UserError, match=r"cannot read .*absent.md.*is absent a table"):
        publish(tables, (page(tmp_path, "table absent"),), tmp_path)


def test_a_folder_of_something_else_changes_no_page(tmp_path, tables):
    made = page(tmp_path, "table rates", "table absent")
    before = made.read_text()
    with pytest.raises(UserError, match="absent"):
        publish(tables, (made,), tmp_path / "docs" / "figures")
    (tables / "teacher.json").unlink()
    with pytest.raises(UserError, match="is not what make_tables.py has written"):
        publish(tables, (made,), tmp_path / "docs" / "figures")
    assert made.read_text() == before


def test_a_page_may_show_tables_of_several_studies(tmp_path, tables):
    shutil.copytree(tables, tables / "frozen")
    (tables / "frozen" / "rates.md").write_text("## Rates\n\nOthers.\n")
    made = page(tmp_path, "table rates", "table frozen/rates", "figure frozen/curve")
    assert publish(tables, (made,), tmp_path / "docs" / "figures") == 3
    assert section(made, "table rates").startswith("A caption.")
    assert section(made, "table frozen/rates") == "Others."
    assert section(made, "figure frozen/curve").endswith("(figures/frozen/curve.svg)")
    assert (tmp_path / "docs" / "figures" / "frozen" / "curve.svg").read_bytes() == SVG
