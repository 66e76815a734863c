"""The published study: the documentation shows exactly what the archived runs give."""

import re
import shutil

import numpy as np
import pytest
from pyarrow import parquet

from analysis import robustness, why
from analysis.build import main
from analysis.cohort import Cohort
from analysis.docs import section
from analysis.publish import FIGURES, PAGES, ROOT, places, read
from analysis.sources.local import load
from analysis.stats.proportions import fisher
from analysis.stats.survival import logrank
from analysis.study import make_study
from analysis.tables.formats import p_value
from s2m.run.folder import find_runs, unfinished
from s2m.run.journal import Journal
from s2m.run.rates import Count

RUNS = ROOT / "results" / "desktop"
SLOTS = ROOT / "results" / "slots"
WHY = ROOT / "results" / "why"
RESULTS = ROOT / "docs" / "results.md"


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


def test_the_outcomes_of_why_are_those_of_its_archive():
    arms = why.read([WHY])
    for make in why.TABLES:
        table = make(arms)
        assert section(why.PAGE, table.name) == why.body(table)


def test_the_tables_of_why_are_those_of_its_archive(tmp_path):
    frozen = ["--only", "normalise=frozen", "--out", str(tmp_path / "frozen")]
    assert main(["--runs", str(WHY), *frozen]) == 0
    shown = places(why.PAGE)
    assert shown
    for kind, name in shown:
        assert section(why.PAGE, f"{kind} {name}") == read(tmp_path, kind, name), name


def test_robustness_is_that_of_its_archive(tmp_path):
    folder = tmp_path / "robustness"
    shutil.copytree(ROOT / "results" / "robustness", folder)
    text = robustness.write(folder).split("\n", 2)[2].strip("\n")
    assert section(RESULTS, "robustness").startswith(f"{text}\n\n![")
    assert (FIGURES / "robustness.svg").read_bytes() == (folder / "robustness.svg").read_bytes()


def test_the_runs_of_both_line_searches_are_those_of_their_archive(tmp_path):
    runs, page = ROOT / "results" / "solver", ROOT / "docs" / "task.md"
    assert main(["--runs", str(runs), "--by", "sim.line_search", "--out", str(tmp_path)]) == 0
    assert section(page, "table runs") == read(tmp_path, "table", "runs")
    for folder in find_runs(runs):
        wrong = np.mean(parquet.read_table(folder.metrics)["sim/unsolved"].to_numpy())
        solved = folder.config()["sim"]["line_search"] == 50
        assert wrong == 0 if solved else f"is {wrong:.2f} on average with 20" in page.read_text()


def test_the_archive_is_small_and_of_one_code(tables):
    runs = list(find_runs(RUNS))
    assert runs and not [run.path for run in runs if unfinished(run)]
    assert len({run.identity.commit for run in runs}) == 1
    assert not any(run.identity.dirty for run in runs)
    assert sum(file.stat().st_size for file in RUNS.rglob("*") if file.is_file()) < 40e6
    assert "every run that was found is compared" in (tables / "left-out.md").read_text()


def test_the_report_of_the_archive_can_be_sent(tables):
    """The libraries in it have half of that; each run may add its curves, not its metrics."""
    assert (tables / "report.html").stat().st_size <= 3e6


def _told(cohort: Cohort) -> tuple[str, str]:
    """Return what the page says of a row: iterations to five balls, and no-drop rates."""
    times = [f"{t.iteration:.0f}" if t.reached else "never" for t in cohort.times(5)]
    rates = [f"{100 * count.rate:.0f}" for count in cohort.counts(5, "no_drop")]
    return ", ".join(times), ", ".join(rates)


def test_the_typed_comparison_of_slots_is_that_of_the_archives():
    page = RESULTS.read_text()
    fixed, permuted = (make_study(load(runs)).cohorts for runs in (SLOTS, RUNS))
    arrived = {}
    for variant in ("flat_mlp", "branch_mlp", "set_transformer"):
        off, on = fixed[f"{variant}_off"], permuted[variant]
        assert [run.seed for run in off.finished] == [run.seed for run in on.finished]
        assert f"| {on.row.label} | {' | '.join([*_told(off), *_told(on)])} |" in page
        arrived[variant] = [
            Count(sum(t.reached for t in cohort.times(5)), len(cohort.finished))
            for cohort in (off, on)
        ]
    both = [
        Count(a.hits + b.hits, a.n + b.n)
        for a, b in zip(arrived["flat_mlp"], arrived["branch_mlp"], strict=True)
    ]
    tests = [fisher(*arrived["branch_mlp"]), fisher(*arrived["flat_mlp"]), fisher(*both)]
    times = fixed["set_transformer_off"].times(5), permuted["set_transformer"].times(5)
    said = page[page.index("Permutation is a harder input for Branch-MLP") :]
    found = re.findall(r"p = ([0-9.]+[0-9])", said)[:4]
    assert found == [p_value(p) for p in (*tests, logrank(*times))]


def test_every_step_of_why_was_solved():
    """Unsolved steps are why 0.1.0's runs could not be compared with later ones."""
    runs = list(find_runs(WHY))
    assert runs
    for run in runs:
        assert {*Journal(run).read()["sim/unsolved"]} == {0.0}, run.path
