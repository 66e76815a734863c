"""Runs that come back from W&B give the same tables, byte for byte."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.sources import wandb
from analysis.study import make_study
from analysis.tables.every import every_table
from analysis.tables.write import to_csv
from tests.analysis.synthetic import DATA, Spec, write_run
from tests.tracking.conftest import PROJECT, sync

ROOT = Path(__file__).parents[2]
WANDB = ["--source", "wandb", "--project"]


def make_tables(*words, **environment):
    command = [sys.executable, str(ROOT / "analysis" / "make_tables.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


def assert_same_files(one, two):
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(two)) for path in two.rglob("*") if path.is_file())
    for name in names:
        # Both name the place where runs lie.
        if name != "report.html" and not name.startswith("teacher"):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tables_are_byte_equal_to_local_ones(server, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(DATA / "runs", runs, ignore=shutil.ignore_patterns("*-s41-*", "*-s42-*"))
    done = sync(runs)
    assert done.returncode == 0, done.stdout + done.stderr
    for i, run in enumerate(server.store.runs.values()):
        run.exported = i % 2 == 0  # the others are still live and are read row by row
    local, pulled, cache = (tmp_path / name for name in ("local", "pulled", "cache"))
    assert make_tables("--runs", runs, "--out", local).returncode == 0
    shutil.rmtree(runs)
    done = make_tables(*WANDB, f"loopback/{PROJECT}", "--cache", cache, "--out", pulled)
    assert done.returncode == 0, done.stderr
    assert_same_files(local, pulled)
    teacher = json.loads((pulled / "teacher.json").read_text())
    assert teacher["path"].startswith(f"{server.url}/loopback/{PROJECT}/runs/")

    server.asked.clear()
    for table in every_table(make_study(wandb.load(f"loopback/{PROJECT}", cache=cache))):
        assert to_csv(table) == (local / f"{table.name}.csv").read_text(), table.name
    # Neither rows nor files are fetched again.
    assert server.asked.keys() <= {"Viewer", "GetDefaultEntity", "Runs", "RunHistoryKeys"}


@pytest.fixture
def one_run(server, tmp_path):
    """A project with one finished run."""
    write_run(tmp_path / "runs", Spec(iterations=50, rates={5: (1, 1)}, episodes=4))
    done = sync(tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = server.store.runs.values()
    return run


def test_a_name_that_is_no_folder_or_a_spoilt_file_is_left_out(server, one_run, tmp_path):
    (name,) = [path for path in server.store.files if path.endswith("/s2m/train.json")]
    server.store.files[name] = b"{}"
    words = [*WANDB, f"loopback/{PROJECT}", "--cache", tmp_path / "cache", "--out", tmp_path / "o"]
    done = make_tables(*words)
    assert done.returncode == 2 and "does not have its train.json yet" in done.stderr
    one_run.config["s2m"]["value"]["run"] = "../../../escaped/run"
    done = make_tables(*words)
    assert done.returncode == 2 and "is not the name of a run folder" in done.stderr
    assert not list(tmp_path.rglob("escaped"))


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["--source", "wandb"], {}, "--source wandb needs --project entity/name"),
        (["--project", "a/b"], {}, "--project a/b needs --source wandb"),
        ([*WANDB, "a/b/c"], {}, "--project a/b/c: write entity/name"),
        ([*WANDB, "loopback/nowhere"], {}, "has no project loopback/nowhere: look for a typo"),
        ([*WANDB, "nobody/p"], {}, "knows no entity 'nobody'"),
        ([*WANDB, "loopback/shut"], {}, "no permission for loopback/shut"),
        ([*WANDB, "loopback/p"], {"WANDB_API_KEY": "x" * 40}, "refuses the API key: wandb login"),
        ([*WANDB, "loopback/p"], {"WANDB_API_KEY": ""}, "there is no W&B API key: wandb login"),
        (
            [*WANDB, "loopback/p"],
            {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_X_GRAPHQL_RETRY_MAX": "1"},
            "cannot reach http://127.0.0.1:9 (connection refused)",
        ),
        ([*WANDB, "loopback/p", "--strip"], {}, "--strip needs the checkpoints of run folders"),
    ],
)
def test_mistakes_are_one_line(server, tmp_path, words, environment, said):
    server.store.make("p", "somebody-elses")
    server.close("shut")
    environment = {"NETRC": str(tmp_path / "none"), **environment}
    done = make_tables(*words, "--out", tmp_path / "out", **environment)
    assert done.returncode == 2
    assert said in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
