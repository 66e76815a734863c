"""Rows by any setting: what is asked for, what is refused and in which words."""

import pytest

from analysis.build import main
from analysis.conditions import parse
from analysis.dotted import describe
from analysis.measure import Metric
from analysis.measure import parse as parse_metric
from analysis.study import Asked
from analysis.tables.effects import comparisons, effects
from analysis.tables.estimates import estimates
from analysis.tables.every import every_table
from analysis.tables.headline import ablation
from s2m.console.errors import UserError
from tests.analysis.synthetic import Spec

GAMMAS = (0.97, 0.99)


def grid(values=GAMMAS, group="ppo", name="gamma", seeds=(40, 41), **given):
    """Return runs that differ in one setting; the later value is better."""
    return [
        Spec(seed=s, levels={3: 100 * (9 - i)}, rates={5: (0, 60 + 20 * i + s % 2)},
             changes={group: {name: value}}, **given)
        for i, value in enumerate(values) for s in seeds
    ]  # fmt: skip


def labels(study):
    return [cohort.row.label for cohort in study.cohorts.values()]


def test_every_value_of_a_setting_is_a_row(study_of):
    study = study_of(*grid(), asked=Asked(by=["ppo.gamma"]))
    assert labels(study) == ["γ=0.97", "γ=0.99"]
    assert [len(cohort.runs) for cohort in study.cohorts.values()] == [2, 2]
    # The schema's default is what others are held to.
    assert study.baseline.row.label == "γ=0.99" and not study.left_out
    assert len({cohort.row.colour for cohort in study.cohorts.values()}) == 2
    row = estimates(study).records[0]
    assert row["difference"] == pytest.approx(-0.20)
    against = comparisons(study)
    assert against and against.lines[0].cells[0].text == "γ=0.97 − γ=0.99"
    assert {table.name for table in every_table(study)} >= {"encoders", "power", "runs"}


def test_two_settings_make_a_row_of_each_combination_and_a_2_x_2(study_of):
    specs = [
        Spec(v, s, rates={5: (0, 50 + 10 * i + 30 * (v == "pfds") + s % 2)},
             changes={"ppo": {"gamma": gamma}})
        for v in ("dshc", "pfds") for i, gamma in enumerate(GAMMAS) for s in (40, 41, 42)
    ]  # fmt: skip
    study = study_of(*specs, asked=Asked(factorial=["encoder", "ppo.gamma"]))
    assert labels(study) == ["DSHC γ=0.97", "DSHC γ=0.99", "PFDS γ=0.97", "PFDS γ=0.99"]
    square, table = ablation(study), effects(study)
    assert square and [line.cells[0].text for line in square.lines] == [
        "DSHC (G_diag)", "PFDS (G_frame)",
    ]  # fmt: skip
    assert [cell.text for cell, _ in square.spans] == ["", "γ=0.97", "γ=0.99"]
    assert table
    found = {r["comparison"]: r["no_drop"] for r in table.records}
    assert found["DSHC: γ=0.97 − γ=0.99"] == pytest.approx(-0.10)
    assert found["γ=0.99: PFDS − DSHC"] == pytest.approx(0.30)
    assert found["interaction: effect on PFDS − on DSHC"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("group", "name", "values", "by", "said"),
    [
        ("encoder", "width", (16, 32), "encoder.width", ["width=16", "width=32"]),
        (
            "curriculum",
            "margin",
            ([0.3] * 4, [0.2] * 4),
            "curriculum",
            ["margin=[0.2,", "margin=[0.3,"],
        ),
    ],
)
def test_any_setting_or_section_makes_rows(study_of, group, name, values, by, said):
    study = study_of(*grid(values, group, name), asked=Asked(by=[by]))
    assert all(a.startswith(b) for a, b in zip(labels(study), said, strict=True))


def test_experiments_make_rows_of_the_same_run(study_of):
    study = study_of(Spec(experiment="a"), Spec(experiment="b"), asked=Asked(by=["experiment"]))
    assert labels(study) == ["a", "b"]


def test_runs_that_differ_in_more_are_refused_by_name(study_of):
    specs = [*grid(), Spec("dshc", 40, changes={"ppo": {"gamma": 0.97}})]
    with pytest.raises(UserError) as refused:
        study_of(*specs, asked=Asked(by=["ppo.gamma"]))
    said = str(refused.value)
    assert "differ in more than ppo.gamma and seed: encoder.name (dshc, pfds)" in said
    assert "--by ppo.gamma encoder" in said and "--only encoder=" in said
    kept = study_of(asked=Asked(by=["ppo.gamma"], only=["encoder=pfds"]))
    assert labels(kept) == ["γ=0.97", "γ=0.99"]
    assert [item.reason for item in kept.left_out] == ["--only encoder=pfds asks for others"]
    assert len(labels(study_of(asked=Asked(by=["ppo.gamma", "encoder"])))) == 3


def test_on_a_tie_nothing_is_dropped(study_of):
    """As many runs of either: which set stays would be chance."""
    with pytest.raises(UserError) as refused:
        study_of(*grid((-15.0, -5.0), "ppo", "entropy"))
    said = str(refused.value)
    assert "2 sets of 2 runs" in said and "-15.0" in said and "-5.0" in said
    assert "--by ppo.entropy" in said and "--only ppo.entropy=-" in said
    assert len(study_of(asked=Asked(only=["ppo.entropy<-10"])).runs) == 2
    study = study_of(Spec(seed=42, changes={"ppo": {"entropy": -5.0}}))
    assert study.hint == "Rows of those that were left out, too: --by ppo.entropy"


def test_a_tie_of_code_is_told_as_such(study_of):
    with pytest.raises(UserError, match="other code: .*--mix-code.*--only commit="):
        study_of(Spec(seed=1), Spec(seed=2, commit="dead" * 10))


def test_the_baseline_can_be_chosen(study_of):
    for wanted in ("γ=0.97", "ppo.gamma=0.97", "0.97"):
        study = study_of(*grid(), asked=Asked(by=["ppo.gamma"], baseline=wanted))
        assert study.baseline.row.label == "γ=0.97"
    with pytest.raises(UserError, match="unknown baseline '0.9'. .*Allowed: γ=0.97, γ=0.99"):
        study_of(asked=Asked(by=["ppo.gamma"], baseline="0.9"))


def test_a_wrong_name_is_told_with_the_nearest(study_of):
    with pytest.raises(UserError, match="unknown setting 'ppo.gama'. Did you mean 'ppo.gamma'?"):
        study_of(*grid(), asked=Asked(by=["ppo.gama"]))
    with pytest.raises(
        UserError, match="'ppo.gamma=0.9': no run has ppo.gamma=0.9; there are 0.97"
    ):
        study_of(asked=Asked(only=["ppo.gamma=0.9"]))


CONFIG = {"ppo.gamma": 0.97, "encoder.name": "pfds", "permute": True, "seed": 40, "m": [0.3, 0.2]}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("ppo.gamma=0.97,0.99", True), ("ppo.gamma!=0.97", False), ("ppo.gamma<0.98", True),
        ("seed>=41", False), ("encoder=pf*", True), ("encoder=*mlp,dshc", False),
        ("encoder!=*mlp", True), ("permute=true", True), ("permute=1", False),
        ("m=[0.3,0.2]", True), ("m=0.3", False), ("ppo.gamma=9.7e-1", True), ("seed = 40", True),
    ],
)  # fmt: skip
def test_conditions(text, holds):
    assert parse(text).holds(CONFIG) is holds


@pytest.mark.parametrize("text", ["gamma", "=3", "seed<a", "seed<1,2", ""])
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(UserError, match="condition|one number"):
        parse(text)


def test_names_of_settings_are_short_where_that_is_enough():
    both = {"task.reward.edge": -5.0, "curriculum.edge": 1, "ppo.gamma": 0.9, "permute": False}
    assert describe(both, ["ppo.gamma", "task.reward.edge"]) == "γ=0.9 edge=-5"
    two = describe(both, ["task.reward.edge", "curriculum.edge", "permute"])
    assert two == "task.reward.edge=-5 curriculum.edge=1 permute=false"


def test_rows_can_be_compared_by_any_metric(study_of):
    metrics = [parse_metric(text) for text in ("criteria/margin:best", "steps", "dropped@5")]
    study = study_of(*grid(), asked=Asked(by=["ppo.gamma"], metrics=metrics))
    tables = {table.name: table for table in every_table(study)}
    best = tables["estimates-criteria-margin-best"].records[0]
    assert best["mean"] == pytest.approx(0.3)
    # 60 of 100 survive 500 steps; the others fall after 100 + i steps, i from 60.
    run = study.cohorts["ppo.gamma=0.97"].finished[0]
    assert Metric("steps").value(run, 5) == pytest.approx((60 * 500 + sum(range(160, 200))) / 100)
    assert Metric("dropped", k=5).value(run, 5) == 0.4
    assert tables["estimates-steps"].lines[0].cells[-1].text.endswith("(0.33)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps:best", "is of episodes"),
        ("a/b@3", "is of training"),
        ("a/b:worst", "Allowed: final"),
    ],
)
def test_what_is_no_metric_is_refused(text, said):
    with pytest.raises(UserError, match=said):
        parse_metric(text)


def test_the_command_makes_them(study_of, tmp_path, capsys):
    """Files of other rows go when the same folder is written again."""
    study_of(*grid(), asked=Asked(by=["ppo.gamma"]))
    out, words = tmp_path / "out", [f"root={tmp_path / 'runs'}", "--out", str(tmp_path / "out")]
    assert main([*words, "--by", "ppo.gamma", "--metric", "criteria/margin"]) == 0
    assert "γ=0.97" in capsys.readouterr().out
    assert (out / "figures" / "training-criteria-margin-final.svg").exists()
    assert (out / "estimates-criteria-margin-final.md").exists()
    assert main([*words, "--only", "ppo.gamma=0.99"]) == 0
    assert not (out / "estimates-criteria-margin-final.md").exists()
    assert not (out / "figures" / "training-criteria-margin-final.svg").exists()
    with pytest.raises(UserError, match="unknown metric 'criteria/margins'. Did you mean"):
        main([*words, "--by", "ppo.gamma", "--metric", "criteria/margins"])
