"""A folder of one's own: encoders, groups and sweeps from outside of the repository."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from analysis.build import main as make_tables
from s2m import audit, evaluate, export
from s2m.cluster.cells import expand
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.config.search import FLAG, REPOSITORY, Search
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.folder import RunFolder, find_runs
from s2m.run.identity import folder_name
from tests.cluster.jobs import launch as submit
from tests.cluster.jobs import wait_until_finished
from tests.examples import write_encoder

COLOUR = "#8c564b"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("mine"))


@pytest.fixture(scope="module")
def runs(mine, tmp_path_factory):
    """One run of one's own encoder and one of pfds, at the demo budget."""
    root = tmp_path_factory.mktemp("runs")
    words = ["encoder=gated_sets,pfds", "budget=demo", f"root={root}", "tracking=disabled"]
    assert main(["-m", FLAG, str(mine), *words]) == 0
    return root


@pytest.fixture(scope="module")
def trained(runs) -> RunFolder:
    (folder,) = (run for run in find_runs(runs) if run.identity.variant == "gated_sets")
    return folder


def test_a_run_keeps_what_it_used_and_what_it_is_called(mine, runs, trained):
    assert (trained.own / "encoder/gated_sets.py").read_text() == (
        mine / "encoder/gated_sets.py"
    ).read_text()
    assert sorted(path.name for path in (trained.own / "encoder").iterdir()) == [
        "gated_sets.py",
        "gated_sets.yaml",
    ]
    who = trained.identity
    assert (who.label, who.group, who.colour.lower()) == ("Gated Sets", "G_frame", COLOUR)
    (beside,) = (run for run in find_runs(runs) if run.identity.variant == "pfds")
    assert not beside.own.exists()


def test_its_row_stands_in_tables_legend_and_report(runs, tmp_path, capsys):
    make_tables(["--runs", str(runs), "--out", str(tmp_path / "tables")])
    table = pd.read_csv(tmp_path / "tables" / "encoders.csv")
    assert "gated_sets" in table["variant"].tolist()
    text = (tmp_path / "tables" / "encoders.md").read_text()
    (line,) = (line for line in text.splitlines() if "Gated Sets" in line)
    assert "frame" in line
    assert "Gated Sets" in (tmp_path / "tables" / "encoders.tex").read_text()
    drawn = [
        path.name
        for path in tmp_path.rglob("*.svg")
        if COLOUR in (svg := path.read_text().lower()) and "gated sets" in svg
    ]
    assert drawn
    report = (tmp_path / "tables" / "report.html").read_text()
    assert "Gated Sets" in report
    assert COLOUR in report.lower()


@pytest.mark.parametrize(
    "command, words",
    [
        (audit.main, ["{run}"]),
        (evaluate.main, ["run={run}", "episodes=2"]),
        (export.main, ["{run}", "{out}"]),
    ],
    ids=["audit", "evaluate", "export"],
)
def test_foreign_code_is_executed_only_where_it_is_named(
    trained, tmp_path, monkeypatch, command, words
):
    monkeypatch.setattr("s2m.encoders.registry._own", {})
    words = [word.format(run=trained.path, out=tmp_path) for word in words]
    with pytest.raises(UserError, match="give --config-dir RUN_FOLDER/own"):
        command(words)
    assert command([*words, FLAG, str(trained.own)]) in (0, None)


def test_it_teaches_a_student(mine, runs, trained, tmp_path):
    words = ["--runs", str(runs), "--out", str(tmp_path), "--teacher", trained.path.name]
    settings = ["distill=demo", "seed=77"]
    with pytest.raises(UserError, match="has an encoder of its own: read own/encoder/gated_sets"):
        make_tables([*words, "--distill", *settings])
    assert make_tables([*words, "--config-dir", str(mine), "--distill", *settings]) == 0
    (student,) = (run for run in find_runs(runs) if run.identity.variant == "tactset")
    assert student.result("evaluate") is not None
    assert student.config()["taught_by"]["source"] == trained.config()["encoder"]["source"]


def test_a_job_executes_no_other_code_than_was_launched(trained, tmp_path):
    """Files that somebody adds to, or changes in, a run folder are not what was launched."""
    path = tmp_path / trained.path.name
    shutil.copytree(trained.path, path)
    for name in ("train.json", "evaluate.json"):
        (path / name).unlink()
    evil = f"import pathlib\npathlib.Path({str(tmp_path / 'evil')!r}).touch()\n"
    (path / "own/encoder/another.py").write_text(evil)
    with (path / "own/encoder/gated_sets.py").open("a") as file:
        file.write(evil)
    done = subprocess.run(
        [sys.executable, "-m", "s2m.job", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "the encoder gated_sets is not s2m's own" in done.stderr
    assert not (tmp_path / "evil").exists()


OWN_GROUPS = {
    "ppo": ("slow", "fast", "learning_rate: {}", (1e-4, 2e-3)),
    "curriculum": ("short", "shorter", "window: {}", (48, 24)),
}


@pytest.mark.parametrize("group", OWN_GROUPS)
def test_files_of_ones_own_win_over_the_budget(group, tmp_path):
    *names, text, values = OWN_GROUPS[group]
    (tmp_path / group).mkdir()
    for name, value in zip(names, values, strict=True):
        (tmp_path / group / f"{name}.yaml").write_text(text.format(value))
    search = Search((tmp_path,))
    key = text.split(":")[0]
    for budget in REPOSITORY.options("budget"):
        sweep = expand([f"{group}={','.join(names)}", f"budget={budget}"], search)
        cells = sweep.compose(search)
        assert [getattr(getattr(cell, group), key) for cell in cells] == list(values)


def test_encoders_of_ones_own_and_of_s2m_are_two_cells(mine):
    search = Search((mine,))
    cells = expand(["encoder=gated_sets,pfds"], search).compose(search)
    assert [cell.encoder.name for cell in cells] == ["gated_sets", "pfds"]
    assert cells[0].encoder.source and not cells[1].encoder.source


def test_two_settings_files_of_one_encoder_are_two_cells(tmp_path, capsys):
    (tmp_path / "mine" / "encoder").mkdir(parents=True)
    (tmp_path / "mine" / "encoder" / "pfds_wide.yaml").write_text("name: pfds\nwidth: 64\n")
    words = ["-m", FLAG, str(tmp_path / "mine"), "encoder=pfds,pfds_wide", f"root={tmp_path}"]
    assert main([*words, "dry=true"]) == 0
    assert "2 of 2 runs would be executed" in capsys.readouterr().out
    assert main([*words, "--cfg", "job"]) == 0
    plain, wide = yaml.safe_load_all(capsys.readouterr().out)
    assert (plain["encoder"]["name"], wide["encoder"]["name"]) == ("pfds", "pfds")
    assert (plain["encoder"]["width"], wide["encoder"]["width"]) == (32, 64)
    assert folder_name(plain) != folder_name(wide)


def test_cells_that_come_out_equal_are_refused_by_name(tmp_path):
    (tmp_path / "ppo").mkdir()
    (tmp_path / "ppo" / "same.yaml").write_text("defaults:\n  - paper\n")
    search = Search((tmp_path,))
    with pytest.raises(UserError, match=r"ppo=paper.*ppo=same|ppo=same.*ppo=paper"):
        expand(["ppo=paper,same"], search).compose(search)


def test_the_printed_config_is_the_frozen_one(mine, trained):
    out = io.StringIO()
    words = ["encoder=gated_sets", "budget=demo", "tracking=disabled"]
    with contextlib.redirect_stdout(out):
        main([FLAG, str(mine), *words, f"root={trained.path.parents[1]}", "--cfg", "job"])
    assert out.getvalue() == (trained.path / "config.yaml").read_text()


def test_an_edited_encoder_is_another_run(mine, tmp_path, trained):
    other = write_encoder(tmp_path)
    path = other / "encoder" / "gated_sets.py"
    path.write_text(path.read_text().replace("torch.sigmoid", "torch.tanh"))
    before, after = (
        load(RunCfg, ["encoder=gated_sets", "budget=demo"], Search((folder,)))
        for folder in (mine, other)
    )
    assert before.encoder.source != after.encoder.source


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda folder: None, "has none of the folders"),
        (lambda folder: (folder / "ppo").mkdir(), None),
        (lambda folder: _file(folder, "ppo/paper.yaml", ""), "ppo=paper is the repository's"),
        (lambda folder: _file(folder, "sweeps/demo.yaml", ""), "sweep=demo is the repository's"),
        (lambda folder: _file(folder, "encoder/mine.py", "x = ("), "encoder/mine.py"),
        (lambda folder: _file(folder, "encoder/mine.py", "x = 1"), "encoder/mine.py"),
    ],
)
def test_a_folder_of_no_use_is_refused(tmp_path, make, said):
    make(tmp_path)
    words = [FLAG, str(tmp_path), "--cfg", "job"]
    if said is None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(words) == 0
        return
    with pytest.raises(UserError, match=re.escape(said)) as told:
        main(words)
    assert "\n" not in str(told.value)


def _file(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text(text)


@pytest.mark.slurm
def test_jobs_of_slurm_find_ones_own_encoder(slurm, mine, tmp_path):
    root = tmp_path / "runs"
    assert submit(root, FLAG, str(mine), "encoder=gated_sets,pfds") == 0
    wait_until_finished(root)
    assert {run.identity.label for run in find_runs(root)} == {"Gated Sets", "PFDS"}
    assert all(run.result("evaluate") for run in find_runs(root))
