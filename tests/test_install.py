"""What `pip install .` leaves behind: commands, configs and tables without the repository."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analysis.synthetic import Spec, write_run
from tests.taught import TEACHER

ROOT = Path(__file__).parents[1]
SOURCE = ("s2m", "analysis", "conf", "sweeps", "pyproject.toml", "setup.py", "MANIFEST.in",
          "README.md", "LICENSE")  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that holds s2m as installed from a copy of the source, and nothing else."""
    place = tmp_path_factory.mktemp("install")
    for name in SOURCE:
        path = ROOT / name
        target = place / "source" / name
        target.parent.mkdir(exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__")
        if path.is_dir():
            shutil.copytree(path, target, ignore=ignored)
        else:
            shutil.copy(path, target)
    words = ["--no-deps", "--no-build-isolation", "--no-compile", "-q"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *words, "--target", place / "site",
         place / "source"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    shutil.rmtree(place / "source")
    return place / "site"


def run(site, cwd, *words):
    given = {key: os.environ[key] for key in os.environ if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True,
        env=given | {"PYTHONPATH": str(site)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_installed_s2m_needs_no_repository(site, tmp_path):
    where = run(
        site, tmp_path, "-c", "import analysis, s2m; print(analysis.__file__, s2m.__file__)"
    )
    assert where.count(str(site)) == 2
    plan = run(site, tmp_path, "-m", "s2m.launch", "-m", "+sweep=demo", "dry=true")
    assert "8 runs" in plan or "of 8" in plan, plan
    write_run(tmp_path / "runs", Spec(rates={5: (1, 90)}))
    assert "pfds" in run(site, tmp_path, "-m", "s2m.status", "runs")
    run(site, tmp_path, "-m", "analysis.make_tables", "runs")
    assert "90%" in (tmp_path / "tables" / "encoders.md").read_text()
    frame = "from analysis import load; print(load('runs').runs.no_drop_5.tolist())"
    assert run(site, tmp_path, "-c", frame).strip() == "[0.9]"


@pytest.mark.slow
def test_an_installed_s2m_trains_watches_and_tabulates(site, tmp_path):
    """In the foreground, and two runs side by side, each a process of the installed s2m.job."""
    words = [*TEACHER, "tracking=disabled"]
    first = run(site, tmp_path, "-m", "s2m.launch", *words, "seed=40")
    assert "finished: runs/default/pfds-s40-" in " ".join(first.split())
    only_of_jobs = site / "s2m" / "stages" / "__pycache__"
    assert not list(only_of_jobs.glob("move.*.pyc"))
    run(site, tmp_path, "-m", "s2m.launch", "-m", *words, "seed=40,41,42")
    assert list(only_of_jobs.glob("move.*.pyc"))
    states = json.loads(run(site, tmp_path, "-m", "s2m.status", "--json"))
    assert [Path(state["run"]).name[:8] for state in states] == [f"pfds-s{n}" for n in (40, 41, 42)]
    assert {state["status"] for state in states} == {"finished"}
    run(site, tmp_path, "-m", "analysis.make_tables", "runs")
    with (tmp_path / "tables" / "encoders.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["variant"], row["evaluated"]) == ("pfds", "3")
