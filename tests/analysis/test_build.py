"""The command as people type it: what it writes, what it says, how it fails."""

import csv
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.build import describe_left_out, main
from analysis.frames import LeftOut
from s2m.console.errors import UserError
from s2m.launch import main as launch
from s2m.run.folder import RunFolder
from tests.analysis.synthetic import DATA, Spec, write_run
from tests.examples import OLDER

ROOT = Path(__file__).parents[2]
TINY = ["sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=6"]


def run(*words, cwd=ROOT):
    script = ROOT / "analysis" / "make_tables.py"
    return subprocess.run(
        [sys.executable, script, *map(str, words)], capture_output=True, text=True, cwd=cwd
    )


def test_everything_is_written(made):
    _, out = made
    assert {p.suffix for p in out.iterdir() if p.is_file()} == {
        ".tex", ".md", ".csv", ".html", ".json", ".parquet"
    }  # fmt: skip
    assert len(list((out / "figures").glob("*.pdf"))) == 26
    teacher = json.loads((out / "teacher.json").read_text())
    assert teacher["run"].startswith("encoders/pfds-s42-")
    assert (Path(teacher["path"]) / "run.json").exists()
    assert json.loads((out / "teacher-pfds.json").read_text())["run"] == teacher["run"]
    of_row = json.loads((out / "teacher-dshc.json").read_text())
    assert of_row["run"] == of_row["best"] and of_row["run"].startswith("encoders/dshc-")


def test_it_says_what_it_chose_and_what_it_left_out(made):
    said, _ = made
    assert "Best teacher: encoders/pfds-s42-" in said
    assert "left out: encoders/dshc-s43-" in said
    assert "other code: badc0de000 instead of c0ffee0000" in said
    assert "0/1, 1 running" in said
    assert re.search(r"report\.html \([12]\.[0-9] MB\)", said)


def test_the_same_runs_give_the_same_bytes(made, tmp_path):
    """Copied in another order and read from another place; only the command line differs."""
    _, out = made
    for source in sorted((DATA / "runs").iterdir(), reverse=True):
        for folder in sorted(source.iterdir(), reverse=True):
            shutil.copytree(folder, tmp_path / "runs" / source.name / folder.name)
    done = run("--runs", tmp_path / "runs", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.name != "report.html" and path.stem.split("-")[0] != "teacher":
            again = tmp_path / "out" / path.relative_to(out)
            assert again.read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("schema", OLDER)
def test_a_run_of_an_older_schema_stands_in_the_tables(schema, tmp_path):
    who = RunFolder.open(OLDER[schema]).identity
    name = f"{who.variant}-s{who.seed}-{who.signature[:8]}"
    shutil.copytree(OLDER[schema], tmp_path / "runs" / "default" / name)
    out = tmp_path / "out"
    assert main(["--runs", str(tmp_path / "runs"), "--out", str(out)]) == 0
    with (out / "encoders.csv").open() as file:
        (row,) = csv.DictReader(file)
    shown = RunFolder.open(OLDER[schema]).result("evaluate")["successes"]["5"]
    assert row["variant"] == "pfds" and int(row["no_drop_episodes"]) == shown["n"]
    assert int(row["no_drop_hits"]) == shown["no_drop"]


def test_no_heavy_library_is_imported(made):
    assert "imported: set()" in made[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--runs", "empty"], "error: empty has no run that can be read"),
        (["--runs", "nowhere"], "error: nowhere is not a directory"),
        (["--runs", "bad"], "schema version 99, this s2m reads up to 3"),
        (
            ["--runs", "good", "--experiment", "x"],
            "error: unknown experiment 'x'. Allowed: encoders",
        ),
        (["--runs", "good", "--budget", "x"], "error: unknown budget 'x'. Allowed: paper"),
        (["--runs", "good", "--out", "file"], "error: cannot write to file"),
        (["goo", "--out", "file"], "error: cannot write to file"),
        (["g"], "error: g may be good, grown: write more of the name"),
    ],
)
def test_mistakes_are_one_line(tmp_path, words, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    bad = write_run(tmp_path / "bad", Spec())
    bad.run_file.write_text('{"schema": 99}')
    write_run(tmp_path / "good", Spec())
    (tmp_path / "grown").mkdir()
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_a_finished_run_the_tables_say_so(tmp_path):
    write_run(tmp_path / "runs", Spec(state="running", iteration=7))
    done = run("--runs", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "running" in (tmp_path / "tables" / "encoders.md").read_text()
    assert "Best teacher: none yet" in done.stdout


def test_a_real_run_is_read(tmp_path, capsys):
    """Trained by the launcher; rates show where it also evaluates, else they are pending."""
    assert launch([*TINY, f"root={tmp_path / 'runs'}", "encoder=dshc", "seed=7"]) == 0
    main(["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out")])
    row = next(
        line for line in (tmp_path / "out" / "encoders.md").read_text().splitlines()
        if line.startswith("| DSHC |")
    )  # fmt: skip
    evaluated = list((tmp_path / "runs").glob("*/*/evaluate.json"))
    strict, no_drop, count = row.split(" | ")[7:]
    assert all(("%" in cell) if evaluated else (cell == "*pending*") for cell in (strict, no_drop))
    assert count == "1/1 |"
    costs = (tmp_path / "out" / "costs.csv").read_text()
    assert "dshc,3130," in costs


def test_two_values_of_a_reward_weight_are_two_rows_everywhere(tmp_path):
    """From the launch of two seeds each to the tables, the figures and the report."""
    runs, out = tmp_path / "runs", tmp_path / "out"
    weight = "task.reward.edge"
    words = [*TINY, "encoder=pfds", "seed=1,2", f"{weight}=-5,-15", f"root={runs}"]
    assert launch(["-m", *words, "experiment=edge"]) == 0
    assert main([str(tmp_path / "run"), "--out", str(out), "--by", weight]) == 0
    labels = ["edge=-15", "edge=-5"]
    for name in ("encoders", "estimates"):
        rows = [line for line in (out / f"{name}.md").read_text().splitlines() if line[:1] == "|"]
        assert [row.split(" | ")[0].strip("| *†") for row in rows[2:]] == labels, name
    with (out / "estimates.csv").open() as file:
        assert [row["seeds"] for row in csv.DictReader(file)] == ["2", "2"]
    drawn, page = (
        (out / "figures" / "progression.svg").read_text(),
        (out / "report.html").read_text(),
    )
    for label in labels:
        assert f"<!-- {label} (n = 2) -->" in drawn
        assert page.count(html.escape(label)) > 3


def test_a_film_that_cannot_be_made_is_one_line(tmp_path):
    write_run(tmp_path / "runs", Spec(rates={5: (1, 1)}))
    reason = "(was not kept|needs an EGL library)"
    with pytest.raises(UserError, match=f"--strip could not film encoders/pfds-s40-.*{reason}"):
        main(["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--strip"])


def test_many_runs_left_out_are_counted():
    lines = describe_left_out([LeftOut(f"run{i}", "why") for i in range(13)])
    assert len(lines) == 11
    assert lines[-1] == "... and 3 more: see left-out.md"
