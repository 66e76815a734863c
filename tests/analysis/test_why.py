"""The hypotheses of docs/why.md, decided by runs whose level changes are known."""

import pytest

from analysis import why
from analysis.docs import section
from analysis.sources.local import load
from analysis.stats.survival import logrank
from tests.analysis.synthetic import Spec, write_run

ROWS = ("dshc", "dshc_off", "pfds", "pfds_off")
NAMES = ("beside", "hypotheses")


@pytest.fixture
def launch(tmp_path):
    """Write runs that reach three balls at given iterations, or never; one seed after the other."""

    def write(variant, *at, iterations=300, **changes):
        for seed, arrived in enumerate(at, 40):
            levels = {2: 50} | ({3: arrived} if arrived else {})
            write_run(
                tmp_path,
                Spec(
                    variant, seed, levels, iterations=iterations, budget="desktop",
                    experiment="why", changes=changes,
                ),
            )  # fmt: skip

    return write


def lines(folder, make):
    """Return what the cells of a table say, by the first of each line."""
    table = make(why.sort_runs(load(folder)))
    return [[cell.text for cell in line.cells] for line in table.lines]


def outcomes(folder):
    return {(name, claim): rest for name, claim, *rest in lines(folder, why.hypotheses)}


def test_tests_are_exact_and_corrected_within_their_family(tmp_path, launch):
    launch("dshc", 90, 91, 92, 93, 94, normalise="frozen")
    launch("pfds", 95, 96, 97, 98, 99, normalise="frozen")
    launch("dshc_off", 200, None, 285, None, 250, normalise="frozen")
    launch("pfds_off", None, 284, None, 210, 260, normalise="frozen")
    found = outcomes(tmp_path)
    runs, seen, p, holm, outcome = found["H1a", "frozen: DSHC_OFF later than DSHC"]
    assert (runs, seen) == ("5 vs 5", "≥ 267 (3/5) vs 92 (5/5)")
    assert (p, holm, outcome) == ("0.0079", "0.024", "supported")
    arms = why.sort_runs(load(tmp_path))["frozen"]
    expected = logrank(arms["dshc_off"].times(3), arms["pfds_off"].times(3))
    _, _, p, holm, outcome = found["H2", "frozen: DSHC_OFF later than PFDS_OFF"]
    assert (float(p), holm, outcome) == (pytest.approx(expected, rel=0.01), p, "not supported")
    left = found["H1a without pilots", "frozen: DSHC_OFF later than DSHC"]
    assert left == ["3 vs 3", "≥ 278 (2/3) vs 93 (3/3)", "0.1", "–", "described"]


def test_a_difference_in_the_other_direction_supports_nothing(tmp_path, launch):
    launch("dshc", 190, 191, 192, 193, 194, normalise="frozen")
    launch("dshc_off", 90, 91, 92, 93, 94, normalise="frozen")
    *_, holm, outcome = outcomes(tmp_path)["H1a", "frozen: DSHC_OFF later than DSHC"]
    assert (holm, outcome) == ("0.024", "not supported")


def test_what_is_not_there_yet_is_open(tmp_path, launch):
    launch("dshc", 90, 91, normalise="frozen")
    launch("dshc_off", 200, normalise="frozen")
    found = outcomes(tmp_path)
    assert {rest[-1] for rest in found.values()} == {"open"}
    assert found["H1a", "frozen: DSHC_OFF later than DSHC"][1] == "200 (1/1) vs 90 (2/2)"


@pytest.mark.parametrize("late, outcome", [(150, "supported"), (151, "not supported")])
def test_runs_that_do_not_stall_are_counted(tmp_path, launch, late, outcome):
    launch("dshc_off", 90, 91, 92, critic={"encoder": "flat_mlp"})
    launch("pfds_off", 90, late, 92, critic={"encoder": "flat_mlp"})
    claim = "flat critic: DSHC_OFF, PFDS_OFF have three balls within 150 iterations"
    assert outcomes(tmp_path)["H4", claim][-1] == outcome


@pytest.mark.parametrize("fastest, outcome", [(120, "supported"), (201, "not supported")])
def test_all_pairs_of_runs_count(tmp_path, launch, fastest, outcome):
    scattered = {"arrangement": "scattered", "shift": 0.8}
    launch("dshc", 90, 100, 119, iterations=500, task={"spawn": scattered})
    launch("dshc_off", 180, None, fastest, iterations=500, task={"spawn": scattered})
    if outcome == "not supported":
        launch("dshc", 90, 100, 202, iterations=500, task={"spawn": scattered})
    claim = "scattered: DSHC_OFF later than DSHC in every pair of runs"
    assert outcomes(tmp_path)["H5", claim][-1] == outcome


@pytest.mark.parametrize("slowest, outcome", [(360, "supported"), (359, "not supported")])
def test_equal_learners_are_compared_by_their_extremes(tmp_path, launch, slowest, outcome):
    launch("pfds", *range(90, 98), iterations=500)
    launch("pfds_off", *range(91, 98), slowest, iterations=500)
    claim = "study: of equal learners one needs 4 times the iterations of another"
    assert outcomes(tmp_path)["H6", claim][-1] == outcome


def test_the_papers_table_stands_beside_ours(tmp_path, launch):
    for variant in ROWS:
        launch(variant, 90, 100)
    launch("dshc_off", None, None, normalise="frozen")
    rows = {line[0]: line[1:] for line in lines(tmp_path, why.beside)}
    assert [*rows] == ["DSHC", "DSHC_OFF", "PFDS", "PFDS_OFF"]
    assert rows["PFDS_OFF"] == ["5", "~16.9k", "≤ 3", "95 (90–100; 2/2)", "pending", "pending"]
    assert rows["DSHC_OFF"] == ["≤ 2", "—", "≤ 3", "95 (90–100; 2/2)", "≤ 2", "— (0/2)"]


def test_both_tables_are_published(tmp_path, monkeypatch, capsys, launch):
    launch("dshc", 90)
    page = tmp_path / "why.md"
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in NAMES))
    monkeypatch.setattr(why, "PAGE", page)
    why.main([str(tmp_path / "why"), "--publish"])
    said = capsys.readouterr().out
    for name in NAMES:
        assert section(page, name) and section(page, name) in said
