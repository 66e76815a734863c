"""The primary metric with seeds as units, on the archived study and on runs made by hand."""

import pytest

from analysis.publish import ROOT
from analysis.sources.local import load
from analysis.study import make_study
from analysis.tables.estimates import estimates, sample_size
from tests.analysis.synthetic import Spec


def specs(variant, hits):
    return [Spec(variant, 40 + i, rates={5: (0, n)}) for i, n in enumerate(hits)]


def test_the_archived_study_gives_the_p_values_found_by_others():
    table = estimates(make_study(load(ROOT / "results" / "desktop")))
    found = {r["variant"]: r["permutation_p_holm"] for r in table.records}
    assert found.pop("pfds") is None
    assert {name: f"{p:.2g}" for name, p in found.items()} == {
        "flat_mlp": "0.056", "branch_mlp": "0.056", "set_transformer_pf": "0.056", "dshc": "0.19",
        "set_transformer": "0.19", "pfds_off": "0.19", "dshc_off": "0.76",
    }  # fmt: skip


def test_rows_by_hand(study_of):
    study = study_of(*specs("pfds", [90, 92, 94, 96, 98]), *specs("dshc", [50, 60, 70, 80, 85]))
    row = next(r for r in estimates(study).records if r["variant"] == "dshc")
    assert row["iqm"] == pytest.approx(0.70)
    assert row["difference"] == pytest.approx(0.69 - 0.94)
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["baseline_better"] == 1
    assert row["permutation_p"] == pytest.approx(2 / 252)
    assert row["permutation_p_holm"] == pytest.approx(2 / 252)
    assert row["equivalence_p"] > 0.95
    power = sample_size(study)
    assert power
    five = next(r for r in power.records if (r["variant"], r["seeds"]) == ("dshc", 5))
    assert five["power"] > 0.9


def test_one_seed_is_told_and_not_tested(study_of):
    study = study_of(*specs("pfds", [90, 92]), *specs("dshc", [50]))
    line = next(li for li in estimates(study).lines if li.cells[0].text == "DSHC")
    assert line.cells[2].text == "50%" and line.cells[3].text == "one seed"
    assert line.cells[4].text == "−41.0 [one seed]" and line.cells[6].text == "–"
