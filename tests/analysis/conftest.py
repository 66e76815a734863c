"""Studies made of synthetic run folders."""

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.sources.local import load
from analysis.study import Study, make_study
from tests.analysis.synthetic import DATA, Spec, write_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def stored() -> Study:
    """The study of the stored folders, which have every kind of trouble once."""
    return make_study(load(DATA / "runs"))


# Printed at the end: what the command has imported, which a login node may not have.
PROGRAM = """
import sys
from analysis.build import main
main(sys.argv[1:])
print("imported:", {"torch", "mujoco", "hydra", "wandb", "statsmodels"} & sys.modules.keys())
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The stored folders, analysed by the command: what it printed, and the folder it wrote."""
    out = tmp_path_factory.mktemp("made") / "out"
    words = ["--runs", str(DATA / "runs"), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, out


@pytest.fixture
def study_of(tmp_path):
    """Return a function that writes runs and makes their study."""

    def make(*specs: Spec, root: Path = tmp_path / "runs", **options) -> Study:
        root.mkdir(exist_ok=True)
        for spec in specs:
            write_run(root, spec)
        return make_study(load(root), **options)

    return make
