"""The published study: the documentation shows exactly what the archived runs give."""

import pytest

from analysis.command import main
from analysis.publish import FIGURES, PAGES, ROOT, places, read
from s2m.documents import section
from s2m.run.folder import find_runs, unfinished

RUNS = ROOT / "results" / "desktop"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    out = tmp_path_factory.mktemp("tables")
    assert main(["--runs", str(RUNS), "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_and_figures_are_those_of_the_archive(tables, page):
    shown = places(page)
    assert shown
    for kind, name in shown:
        made = read(tables, kind, name)
        if isinstance(made, bytes):
            assert (FIGURES / f"{name}.svg").read_bytes() == made, name
        else:
            assert section(page, f"{kind} {name}") == made, name


def test_the_archive_is_small_and_of_one_code(tables):
    runs = list(find_runs(RUNS))
    assert runs and not [run.path for run in runs if unfinished(run)]
    assert len({run.identity.commit for run in runs}) == 1
    assert not any(run.identity.dirty for run in runs)
    assert sum(file.stat().st_size for file in RUNS.rglob("*") if file.is_file()) < 40e6
    assert "every run that was found is compared" in (tables / "left-out.md").read_text()
