"""Figures on disk: kept while nothing has changed, painted again when something has."""

from dataclasses import replace

import pytest

from analysis.figures import draw as drawing
from analysis.figures import every
from analysis.figures.gallery import draw
from analysis.figures.levels import progression
from analysis.tables.every import every_table
from tests.analysis.synthetic import Spec

LEVELS = {2: 100, 3: 900}


@pytest.fixture
def painted(monkeypatch):
    """The names of the figures that were painted; a study has one here."""
    names = []

    def render(one):
        names.append(one.name)
        return {kind: f"{kind} of {one.caption}".encode() for kind in ("pdf", "svg", "png")}

    monkeypatch.setattr(drawing, "render", render)
    monkeypatch.setattr(drawing, "render_half", lambda one: b"half")
    monkeypatch.setattr(every, "every_figure", lambda study: [progression(study)])
    return names


@pytest.fixture
def gallery(tmp_path):
    """Return a function that draws a study into one folder."""
    (tmp_path / "figures").mkdir()

    def show(study):
        return draw(study, every_table(study), tmp_path, lambda items, total, what: items)

    return show


def test_figures_of_unchanged_runs_are_kept(study_of, painted, gallery):
    study = study_of(Spec(levels=LEVELS))
    first = gallery(study)
    assert gallery(study) == first
    assert gallery(study_of()) == first  # read anew from the same folders
    assert painted == ["progression"]


@pytest.mark.parametrize("name", ["progression.svg", "progression-half.pdf", "drawn.json"])
@pytest.mark.parametrize("spoil", ["touched", "deleted"])
def test_a_file_that_was_touched_is_painted_again(
    study_of, painted, gallery, tmp_path, name, spoil
):
    study, file = study_of(Spec(levels=LEVELS)), tmp_path / "figures" / name
    first = gallery(study)
    whole = file.read_bytes()
    if spoil == "touched":
        file.write_bytes(whole[:-9])
    else:
        file.unlink()
    assert gallery(study) == first
    assert painted == ["progression"] * 2 and file.read_bytes() == whole


@pytest.mark.parametrize(
    "more",
    [
        {"levels": {2: 100, 3: 901}},
        {"levels": LEVELS, "rates": {5: (40, 90)}},
        {"levels": LEVELS, "margin": 0.4},
    ],
    ids=["level", "rates", "curve"],
)
def test_a_changed_run_is_painted_again(study_of, painted, gallery, tmp_path, more):
    gallery(study_of(Spec(levels=LEVELS)))
    gallery(study_of(Spec(**more), root=tmp_path / "other"))
    assert painted == ["progression"] * 2


def test_another_row_to_compare_with_is_painted_again(study_of, painted, gallery):
    study = study_of(Spec(levels=LEVELS), Spec("dshc", levels=LEVELS))
    gallery(study)
    gallery(replace(study, against="dshc"))
    assert painted == ["progression"] * 2
