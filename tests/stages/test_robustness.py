"""Policies under shifts: evaluated once, stored apart from their runs, shown in one table."""

import csv
import json
import sys
from dataclasses import asdict

import pyarrow.parquet as pq
import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.evaluate import main
from s2m.run.files import read_sealed
from s2m.run.folder import RunFolder
from s2m.stages import robustness
from s2m.stages.execute import execute

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=2",
    "encoder.width=8", "encoder.embedding=8", "task.episode_steps=20",
    "evaluate.episodes=1", "evaluate.selection_episodes=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two trained and judged runs and one that has not begun."""
    root = tmp_path_factory.mktemp("runs") / "tiny"
    for name, encoder in {"one": "pfds", "two": "dshc", "young": "pfds"}.items():
        words = [*TINY, f"encoder={encoder}", f"seed={len(name)}"]
        folder = RunFolder.create(root / name, asdict(load(RunCfg, words)))
        if name != "young":
            execute(folder)
    return root


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_command_makes_one_table_and_leaves_the_runs_as_they_are(
    runs, tmp_path, capsys, monkeypatch
):
    out, before = tmp_path / "out", contents(runs)
    words = ["-m", f"run={runs}", "task.command.linear_x=0.8,1.0", "delay.action=0,2",
             "episodes=2", "levels=[1,3]", f"out={out}"]  # fmt: skip
    assert main(words) == 0
    assert "1 of 3 runs have no checkpoint: young\n" in capsys.readouterr().out
    assert contents(runs) == before
    records = [read_sealed(path) for path in sorted((out / "evaluations").glob("*.json"))]
    assert len(records) == 2 * 5
    (shifted,) = [
        record for record in records if record["run"] == "tiny/one"
        and record["shift"] == {"delay.action": "2", "task.command.linear_x": "1.0"}
    ]  # fmt: skip
    assert shifted["own"] == {"delay.action": 0, "task.command.linear_x": 0.5}
    assert shifted["successes"].keys() == {"1", "3"} and shifted["iteration"] == 2
    rows = pq.read_table(out / "evaluations" / shifted["episodes"]).to_pylist()
    assert {row["shift"] for row in rows} == {"delay.action=2 task.command.linear_x=1.0"}
    assert {row["run"] for row in rows} == {"tiny/one"} and len(rows) == 4
    for kind in ("csv", "md", "tex", "svg", "png"):
        assert (out / f"robustness.{kind}").stat().st_size
    with (out / "robustness.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 10 * 2 and {row["shift"] for row in table} >= {"as trained"}
    assert "| delay.action=2 task.command.linear_x=1.0 |" in (out / "robustness.md").read_text()

    def never(*_):
        raise AssertionError("it was judged before")

    monkeypatch.setattr(robustness, "run_episodes", never)
    assert main(words) == 0
    assert len(list((out / "evaluations").glob("*.json"))) == 10


def test_one_run_under_one_shift_is_named_in_table_and_rows(runs, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    shift = "task.noise.position=0.05"
    main([f"run={runs / 'one'}", shift, "episodes=1", "levels=[1]", f"out={out}"])
    assert f"one, {shift}, seed 1000" in capsys.readouterr().out
    with out.open() as file:
        assert [(row["run"], row["shift"]) for row in csv.DictReader(file)] == [("one", shift)]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-m", "delay.action=1"], "-m needs run=FOLDER"),
        (["-m", "run={one}", "agent=lqr"], "'agent=lqr': -m evaluates runs under shifts"),
        (["-m", "run={one}/../young"], "young: without a checkpoint there is nothing to evaluate"),
        (["-m", "run={one}", "out=a,b"], "out = a, b: allowed is one folder"),
        (["-m", "run={one}", "+shifts=comon"], "shifts 'comon'"),
        (["-m", "run={one}", "delay.action=1", "task.command.linear_xx=0.8"], "Did you mean 'task"),
        (["-m", "run={one}", "sim.pauze=1"], "unknown setting 'sim.pauze'"),
        (["-m", "run={one}", "task.command.linear_x=0.5,fast"], "task.command.linear_x = fast: "),
        (["-m", "run={one}", "delay.action=0,99"], "delay.action = 99: allowed 0 to 50"),
        (["run={one}", "delay.action=1", "store=true"], "store = true: faults, delays"),
        (["run={one}", "sim.ball.rolling=1"], "setting 'sim.ball"),
        (["agent=lqr", "delay.observation=1"], "delay.observation: reference agents see"),
    ],
)
def test_mistakes_are_one_line(runs, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        main([word.format(one=runs / "one") for word in words])
    assert line in str(error.value) and "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_setting_of_another_simulator_names_the_run_that_lacks_it(runs, tmp_path, monkeypatch):
    """Nothing is judged before, and torch is not waited for."""
    monkeypatch.setitem(sys.modules, "s2m.stages.robustness", None)
    other = RunFolder.create(tmp_path / "x" / "other", asdict(load(RunCfg, ["budget=demo"])))
    (other.checkpoints / "000000001.pt").touch()
    words = [
        f"run={other.path},{runs / 'one'}",
        "sim.ball.rolling=0.001",
        f"out={tmp_path / 'out'}",
    ]
    with pytest.raises(UserError, match="^one, sim=dummy: unknown setting 'sim.ball.rolling'"):
        main(["-m", *words])
    assert not (tmp_path / "out").exists()


def test_a_shift_that_a_policy_cannot_meet_is_left_out_by_name(runs, tmp_path, capsys):
    words = ["episodes=1", "levels=[1]", f"out={tmp_path}"]
    assert main(["-m", f"run={runs / 'one'}", "faults.delay=1", *words]) == 1
    said = capsys.readouterr().out
    assert "one, faults.delay=1: left out: faults are those of the tactile plate" in said
    assert "| as trained |" in said


def test_evaluations_of_different_settings_are_not_mixed(runs, tmp_path):
    words = ["-m", f"run={runs / 'one'}", "levels=[1]", f"out={tmp_path}"]
    assert main([*words, "episodes=1"]) == 0
    with pytest.raises(UserError, match="of different settings .* give each its own out="):
        main([*words, "episodes=2"])
    json.loads(next((tmp_path / "evaluations").glob("*.json")).read_text())
